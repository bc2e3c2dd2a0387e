package highlight

import (
	"strings"
	"sync"
)

// language is what the reader needs to know. The tables below hold no compiled
// expressions: they cost nothing before they are used.
type language struct {
	names    string // as they stand behind a fence
	comments []string
	quotes   []quote
	keywords string
	// letters belong to words, beside letters and digits.
	letters string
	// key, : or =, ends the key that begins a line. Keys may be strings; tight ones need
	// no space behind the key; sections begin with [.
	key                             byte
	stringKeys, tightKeys, sections bool
	// fold: keywords in any case. calls: a word before ( is a name. types: a capitalized
	// word is a name.
	fold, calls, types bool
	// lines classes whole lines, instead of all that.
	lines func(string) Class

	words func() map[string]bool
}

// quote is a string, or a comment with two ends.
type quote struct {
	from, to string
	escape   byte // 0: nothing is escaped
	long     bool // may hold newlines
	comment  bool
	char     bool // one character, else it is no quote: 'a, a lifetime
}

func (q *quote) class() Class {
	if q.comment {
		return Comment
	}
	return String
}

// end is where the quote ends that is open at from, or -1.
func (q *quote) end(line string, from int) int {
	for i := from; i < len(line); i++ {
		if q.escape != 0 && line[i] == q.escape {
			i++
			continue
		}
		if strings.HasPrefix(line[i:], q.to) {
			return i + len(q.to)
		}
	}
	return -1
}

func (l *language) keyword(word string) bool {
	if l.fold {
		word = strings.ToLower(word)
	}
	return l.words()[word]
}

var (
	double   = quote{from: `"`, to: `"`, escape: '\\'}
	single   = quote{from: "'", to: "'", escape: '\\'}
	char     = quote{from: "'", to: "'", escape: '\\', char: true}
	block    = quote{from: "/*", to: "*/", long: true, comment: true}
	raw      = quote{from: "`", to: "`", long: true}
	template = quote{from: "`", to: "`", escape: '\\', long: true}
	threeD   = quote{from: `"""`, to: `"""`, escape: '\\', long: true}
	threeS   = quote{from: "'''", to: "'''", escape: '\\', long: true}
	longD    = quote{from: `"`, to: `"`, escape: '\\', long: true}
	longS    = quote{from: "'", to: "'", long: true}
)

var slashes, hash = []string{"//"}, []string{"#"}

// languages are made on first use.
var languages = sync.OnceValue(func() map[string]*language {
	out := map[string]*language{}
	for _, l := range table() {
		l.words = sync.OnceValue(func() map[string]bool {
			words := map[string]bool{}
			for _, w := range strings.Fields(l.keywords) {
				words[w] = true
			}
			return words
		})
		for _, n := range strings.Fields(l.names) {
			out[n] = l
		}
	}
	return out
})

func named(name string) *language {
	if name == "" || len(name) > 20 {
		return nil
	}
	return languages()[strings.ToLower(name)]
}

func table() []*language {
	return []*language{
		{names: "go golang", comments: slashes, quotes: []quote{block, double, raw, char}, calls: true, types: true,
			keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr byte rune float32 float64 complex64 complex128 bool error any comparable"},
		{names: "c h cpp c++ cc cxx hpp objc objective-c cuda", comments: slashes, quotes: []quote{block, double, char}, calls: true, types: true, letters: "#",
			keywords: "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false nullptr NULL class namespace template typename public private protected virtual override using new delete this try catch throw constexpr noexcept operator friend explicit co_await co_return co_yield concept requires #include #define #ifdef #ifndef #endif #if #else #elif #pragma #undef"},
		{names: "java kotlin kt scala groovy gradle dart", comments: slashes, quotes: []quote{block, threeD, double, char, single}, calls: true, types: true, letters: "@",
			keywords: "abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for goto if implements import instanceof int interface long native new package private protected public return short static strictfp super switch synchronized this throw throws transient try void volatile while true false null var val fun when object companion data sealed override open lateinit suspend in is as def trait lazy implicit with yield match record async await late required"},
		{names: "csharp c# cs fsharp", comments: slashes, quotes: []quote{block, double, char}, calls: true, types: true,
			keywords: "abstract as base bool break byte case catch char checked class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long namespace new null object operator out override params private protected public readonly ref return sbyte sealed short sizeof static string struct switch this throw true try typeof uint ulong unsafe ushort using virtual void volatile while var async await get set init record yield"},
		{names: "js javascript jsx ts typescript tsx mjs cjs node vue svelte", comments: slashes, quotes: []quote{block, double, single, template}, calls: true, types: true, letters: "$",
			keywords: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown var void while with yield"},
		{names: "rust rs", comments: slashes, quotes: []quote{block, longD, char}, calls: true, types: true, letters: "!",
			keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64"},
		{names: "swift", comments: slashes, quotes: []quote{block, threeD, double}, calls: true, types: true, letters: "@",
			keywords: "actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in indirect init inout internal is lazy let mutating nil open operator override private protocol public repeat required rethrows return self Self some static struct subscript super switch throw throws true try typealias unowned var weak where while"},
		{names: "php", comments: []string{"//", "#"}, quotes: []quote{block, longD, longS}, calls: true, types: true, letters: "$", fold: true,
			keywords: "abstract and array as break case catch class clone const continue declare default do echo else elseif empty enddeclare endfor endforeach endif endswitch endwhile enum extends false final finally fn for foreach function global if implements include include_once instanceof interface isset list match namespace new null or print private protected public readonly require require_once return self static switch this throw trait true try unset use var while xor yield"},
		{names: "python py python3 pyi starlark bzl", comments: hash, quotes: []quote{threeD, threeS, double, single}, calls: true, types: true, letters: "@",
			keywords: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"},
		{names: "ruby rb", comments: hash, quotes: []quote{longD, longS, raw}, calls: true, types: true, letters: "@?:",
			keywords: "alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require require_relative attr_reader attr_writer attr_accessor private public protected raise"},
		{names: "perl pl", comments: hash, quotes: []quote{longD, longS}, calls: true, letters: "$@%",
			keywords: "and do else elsif eq for foreach ge gt if last le local lt my ne next no not or our package print redo require return sub undef unless until use while die"},
		{names: "sh bash shell zsh fish console shell-session shellsession ksh", comments: hash, quotes: []quote{longD, longS}, letters: "$-",
			keywords: "if then else elif fi for while until do done case esac in function select time return exit break continue local export readonly declare typeset unset set shift source alias trap eval exec cd echo printf read test true false"},
		{names: "powershell ps1 pwsh", comments: hash, quotes: []quote{{from: "<#", to: "#>", long: true, comment: true}, longD, longS}, letters: "$-", fold: true,
			keywords: "begin break catch class continue data do dynamicparam else elseif end exit filter finally for foreach from function if in param process return switch throw trap try until using while $true $false $null"},
		{names: "lua luau", comments: []string{"--"}, quotes: []quote{{from: "--[[", to: "]]", long: true, comment: true}, {from: "[[", to: "]]", long: true}, double, single}, calls: true,
			keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"},
		{names: "haskell hs elm purescript", comments: []string{"--"}, quotes: []quote{{from: "{-", to: "-}", long: true, comment: true}, double, char}, types: true, letters: "'",
			keywords: "case class data default deriving do else family forall foreign if import in infix infixl infixr instance let module newtype of qualified then type where as exposing port"},
		{names: "elixir ex exs", comments: hash, quotes: []quote{threeD, longD, single}, calls: true, types: true, letters: "@?!:",
			keywords: "after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote raise receive require rescue super true try unless unquote use when with"},
		{names: "clojure clj lisp scheme elisp racket", comments: []string{";"}, quotes: []quote{longD}, letters: "-?!*+<>=/:",
			keywords: "def defn defmacro defun define lambda fn let let* letrec if cond when unless do loop recur ns require quote set! nil true false t"},
		{names: "sql mysql postgresql postgres psql sqlite plpgsql", comments: []string{"--"}, quotes: []quote{block, longS, longD}, fold: true, calls: true,
			keywords: "add all alter and as asc begin between by case cascade check column commit constraint create cross database default delete desc distinct drop else end exists explain false foreign from full function group having if in index inner insert into is join key left like limit materialized not null offset on or order outer over partition primary references replace returning revoke grant right rollback select set table then to transaction trigger true truncate union unique update using values view when where with integer int bigint text varchar char boolean timestamp date numeric serial uuid json jsonb"},
		{names: "r", comments: hash, quotes: []quote{longD, longS}, calls: true, letters: ".",
			keywords: "break else for function if in next repeat return while TRUE FALSE NULL NA Inf NaN library require"},
		{names: "zig", comments: slashes, quotes: []quote{double, char}, calls: true, types: true, letters: "@",
			keywords: "const var fn pub return if else while for switch break continue defer errdefer try catch orelse unreachable struct enum union error comptime inline export extern test true false null undefined and or void bool usize isize u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 anytype type"},
		{names: "nix", comments: hash, quotes: []quote{block, {from: "''", to: "''", long: true}, longD}, letters: "-'",
			keywords: "let in with rec inherit if then else assert import true false null"},
		{names: "proto protobuf graphql thrift", comments: []string{"//", "#"}, quotes: []quote{block, threeD, double}, types: true,
			keywords: "syntax package import option message enum service rpc returns stream repeated optional required oneof map reserved extend double float int32 int64 uint32 uint64 bool string bytes true false type query mutation subscription input interface union scalar implements fragment on schema"},
		{names: "hcl terraform tf", comments: []string{"#", "//"}, quotes: []quote{block, double}, key: '=', calls: true, letters: "-",
			keywords: "resource data variable output locals module provider terraform for in if true false null dynamic"},
		{names: "json json5 jsonc jsonl ndjson", comments: slashes, quotes: []quote{block, double}, key: ':', stringKeys: true, tightKeys: true, keywords: "true false null"},
		{names: "yaml yml", comments: hash, quotes: []quote{double, single}, key: ':', letters: "-",
			keywords: "true false null yes no on off"},
		{names: "toml ini conf cfg properties env dotenv editorconfig systemd", comments: []string{"#", ";"}, quotes: []quote{threeD, threeS, double, single}, key: '=', sections: true, letters: "-",
			keywords: "true false"},
		{names: "dockerfile docker containerfile", comments: hash, quotes: []quote{double, single}, letters: "-",
			keywords: "FROM AS RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL"},
		{names: "make makefile mk just justfile", comments: hash, quotes: []quote{double, single}, key: ':', letters: "-.$",
			keywords: "ifeq ifneq ifdef ifndef else endif include define endef export override .PHONY"},
		{names: "css scss sass less", comments: slashes, quotes: []quote{block, double, single}, key: ':', letters: "-@", calls: true,
			keywords: "@media @import @font-face @keyframes @supports @layer @use @mixin @include @if @else @for @each @function @return !important inherit initial unset none auto"},
		{names: "html xml svg xhtml rss plist htm", quotes: []quote{{from: "<!--", to: "-->", long: true, comment: true}, double}, letters: "-:"},
		{names: "diff patch udiff", lines: diffLine},
	}
}

func diffLine(line string) Class {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return Comment
	case strings.HasPrefix(line, "@@"):
		return Name
	case line != "" && line[0] == '+':
		return Added
	case line != "" && line[0] == '-':
		return Removed
	}
	return Plain
}
