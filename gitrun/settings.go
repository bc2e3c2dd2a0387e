package gitrun

import (
	"errors"
	"strings"
)

// setting is one value of a configuration.
type setting struct {
	// file contains the setting.
	file string
	// key is in lower case, except its middle part; section and name are its first and last part.
	key, section, name, value string
}

func newSetting(file, key, value string) setting {
	section, rest, _ := strings.Cut(key, ".")
	return setting{file, key, strings.ToLower(section), strings.ToLower(rest[strings.LastIndexByte(rest, '.')+1:]), value}
}

// middle returns the part of the key between section and name.
func (s setting) middle() string {
	rest := strings.TrimPrefix(s.key[min(len(s.section), len(s.key)):], ".")
	return strings.TrimSuffix(rest[:len(rest)-len(s.name)], ".")
}

var errNoSettings = errors.New("git could not parse it either")

// parseSettings reads text, the content of file, as git does (config.c): what git accepts is
// accepted, anything else is an error.
func parseSettings(file, text string) (out []setting, err error) {
	text = strings.TrimPrefix(text, "\uFEFF")
	if strings.ContainsRune(text, 0) {
		return nil, errNoSettings // git takes the text before it, differently from place to place
	}
	p := settingParser{text: strings.ReplaceAll(text, "\r\n", "\n")}
	section := ""
	for {
		p.skip(" \t\r\n")
		c := p.next()
		switch {
		case p.ended:
			return out, nil
		case c == '#' || c == ';':
			p.until('\n')
		case c == '[':
			if section, err = p.section(); err != nil {
				return nil, err
			}
		case letter(c):
			p.at--
			key := section + strings.ToLower(p.while(keyByte))
			p.skip(" \t")
			value := ""
			switch c := p.next(); {
			case c == '=':
				if value, err = p.value(); err != nil {
					return nil, err
				}
			case c != '\n':
				return nil, errNoSettings
			}
			out = append(out, newSetting(file, key, value))
		default:
			return nil, errNoSettings
		}
	}
}

type settingParser struct {
	text  string
	at    int
	ended bool
}

// next returns the next byte. The end of the text counts as the end of a line.
func (p *settingParser) next() byte {
	if p.ended = p.at >= len(p.text); p.ended {
		return '\n'
	}
	p.at++
	return p.text[p.at-1]
}

func (p *settingParser) while(fits func(byte) bool) string {
	start := p.at
	for p.at < len(p.text) && fits(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *settingParser) skip(set string) {
	p.while(func(c byte) bool { return strings.IndexByte(set, c) >= 0 })
}

func (p *settingParser) until(end byte) { p.while(func(c byte) bool { return c != end }) }

// section reads `name]` or `name "middle"]`, and returns it with a dot at its end.
func (p *settingParser) section() (string, error) {
	name := strings.ToLower(p.while(func(c byte) bool { return keyByte(c) || c == '.' }))
	c := p.next()
	if c == ']' && name != "" {
		return name + ".", nil
	}
	if strings.IndexByte(" \t\r", c) < 0 {
		return "", errNoSettings
	}
	if p.skip(" \t\r"); p.next() != '"' {
		return "", errNoSettings
	}
	var middle strings.Builder
	for {
		c := p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", errNoSettings
		}
		middle.WriteByte(c)
	}
	if p.next() != ']' {
		return "", errNoSettings
	}
	return name + "." + middle.String() + ".", nil
}

// value reads what follows "=", to the end of the line.
func (p *settingParser) value() (string, error) {
	var out strings.Builder
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errNoSettings
		case c == '\n':
			return out.String(), nil
		case !quoted && strings.IndexByte(" \t\r", c) >= 0:
			if out.Len() > 0 {
				spaces++
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			p.until('\n')
			continue
		}
		out.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			c = p.next()
			if c == '\n' {
				continue
			}
			i := strings.IndexByte(`tbn\"`, c)
			if i < 0 {
				return "", errNoSettings
			}
			out.WriteByte("\t\b\n\\\""[i])
		default:
			out.WriteByte(c)
		}
	}
}

func letter(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func keyByte(c byte) bool { return letter(c) || c >= '0' && c <= '9' || c == '-' }
