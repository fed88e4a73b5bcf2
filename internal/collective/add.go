package collective

import "encoding/binary"

// Add writes a + b to at, number by number: 16-bit integers that wrap around, of which
// four are added at once, so that a sum costs little beside what is measured. All three
// have the same even length; at may be a or b.
func Add(at, a, b []byte) {
	const low = 0x7fff_7fff_7fff_7fff
	for len(at) >= 8 {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(at, (x&low+y&low)^(x^y)&^low)
		at, a, b = at[8:], a[8:], b[8:]
	}
	for len(at) >= 2 {
		binary.LittleEndian.PutUint16(at, binary.LittleEndian.Uint16(a)+binary.LittleEndian.Uint16(b))
		at, a, b = at[2:], a[2:], b[2:]
	}
}
