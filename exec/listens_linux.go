package exec

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Listens reads the kernel's tables of this process's own network: asking the
// server itself would be noticed by it.
func (OS) Listens(at netip.AddrPort) bool {
	return listensIn("/proc/net/tcp", at) || listensIn("/proc/net/tcp6", at)
}

// stateListen is TCP_LISTEN of the kernel.
const stateListen = "0A"

func listensIn(table string, at netip.AddrPort) bool {
	f, err := os.Open(table)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != stateListen {
			continue
		}
		local, ok := tableAddress(fields[1])
		if ok && local.Port() == at.Port() && reaches(local.Addr(), at.Addr()) {
			return true
		}
	}
	return false
}

// reaches reports whether a server at local is there for who connects to addr.
func reaches(local, addr netip.Addr) bool {
	// A server of version 6 at all addresses mostly takes version 4 as well.
	return local == netip.IPv6Unspecified() || local.Unmap() == addr || local == netip.IPv4Unspecified() && addr.Is4()
}

// tableAddress reads "0100007F:1F90": the address is printed as 32-bit numbers
// of the machine, the port as one.
func tableAddress(s string) (netip.AddrPort, bool) {
	text, portText, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(text)
	port, err2 := strconv.ParseUint(portText, 16, 16)
	if err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr, uint16(port)), ok
}
