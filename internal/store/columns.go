package store

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The types below are whole columns of rows to write, sent as one array parameter
// each. They encode themselves in one pass: a batch of some hundred requests has some
// ten thousand values, and boxing each of them would cost more than all the rest. A nil
// column is null, not empty.
type (
	texts []string
	// optionalTexts sends "" as null.
	optionalTexts []string
	// uuids sends "" as null.
	uuids    []string
	integers []int64
	// optionalIntegers sends 0 as null.
	optionalIntegers []int64
	smalls           []int32
	booleans         []bool
	// binaries sends nil as null.
	binaries [][]byte
	// times sends the zero time as null.
	times []time.Time
	dates []time.Time
)

// column is what all of them have in common.
type column interface {
	length() int
	// size is how many bytes all elements take at most.
	size() int
	// appendElement adds element i with its length in front, -1 for null.
	appendElement(buf []byte, i int) ([]byte, error)
}

// collect makes a column from one field of all rows.
func collect[Column ~[]Value, Row, Value any](rows []Row, field func(Row) Value) Column {
	out := make(Column, len(rows))
	for i, row := range rows {
		out[i] = field(row)
	}
	return out
}

func (c texts) length() int            { return len(c) }
func (c optionalTexts) length() int    { return len(c) }
func (c uuids) length() int            { return len(c) }
func (c integers) length() int         { return len(c) }
func (c optionalIntegers) length() int { return len(c) }
func (c smalls) length() int           { return len(c) }
func (c booleans) length() int         { return len(c) }
func (c binaries) length() int         { return len(c) }
func (c times) length() int            { return len(c) }
func (c dates) length() int            { return len(c) }

// head is the length in front of each element, in bytes.
const head = 4

func (c texts) size() (n int) {
	for _, text := range c {
		n += head + len(text)
	}
	return n
}

func (c binaries) size() (n int) {
	for _, bytes := range c {
		n += head + len(bytes)
	}
	return n
}

func (c optionalTexts) size() int    { return texts(c).size() }
func (c uuids) size() int            { return len(c) * (head + 16) }
func (c integers) size() int         { return len(c) * (head + 8) }
func (c optionalIntegers) size() int { return len(c) * (head + 8) }
func (c smalls) size() int           { return len(c) * (head + 4) }
func (c booleans) size() int         { return len(c) * (head + 1) }
func (c times) size() int            { return len(c) * (head + 8) }
func (c dates) size() int            { return len(c) * (head + 4) }

const null = 0xFFFFFFFF // length -1

func (c texts) appendElement(buf []byte, i int) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(c[i])))
	return append(buf, c[i]...), nil
}

func (c optionalTexts) appendElement(buf []byte, i int) ([]byte, error) {
	if c[i] == "" {
		return binary.BigEndian.AppendUint32(buf, null), nil
	}
	return texts(c).appendElement(buf, i)
}

func (c uuids) appendElement(buf []byte, i int) ([]byte, error) {
	if c[i] == "" {
		return binary.BigEndian.AppendUint32(buf, null), nil
	}
	id, err := parseUUID(c[i])
	if err != nil {
		return nil, err
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(id)))
	return append(buf, id[:]...), nil
}

func (c integers) appendElement(buf []byte, i int) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, 8)
	return binary.BigEndian.AppendUint64(buf, uint64(c[i])), nil
}

func (c optionalIntegers) appendElement(buf []byte, i int) ([]byte, error) {
	if c[i] == 0 {
		return binary.BigEndian.AppendUint32(buf, null), nil
	}
	return integers(c).appendElement(buf, i)
}

func (c smalls) appendElement(buf []byte, i int) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, 4)
	return binary.BigEndian.AppendUint32(buf, uint32(c[i])), nil
}

func (c booleans) appendElement(buf []byte, i int) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, 1)
	if c[i] {
		return append(buf, 1), nil
	}
	return append(buf, 0), nil
}

func (c binaries) appendElement(buf []byte, i int) ([]byte, error) {
	if c[i] == nil {
		return binary.BigEndian.AppendUint32(buf, null), nil
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(c[i])))
	return append(buf, c[i]...), nil
}

// epoch is where PostgreSQL starts to count.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

const secondsPerDay = 24 * 60 * 60

func (c times) appendElement(buf []byte, i int) ([]byte, error) {
	if c[i].IsZero() {
		return binary.BigEndian.AppendUint32(buf, null), nil
	}
	buf = binary.BigEndian.AppendUint32(buf, 8)
	return binary.BigEndian.AppendUint64(buf, uint64(c[i].UnixMicro()-epoch.UnixMicro())), nil
}

func (c dates) appendElement(buf []byte, i int) ([]byte, error) {
	buf = binary.BigEndian.AppendUint32(buf, 4)
	days := (c[i].Unix() - epoch.Unix()) / secondsPerDay
	return binary.BigEndian.AppendUint32(buf, uint32(int32(days))), nil
}

// withRoom gives a buffer that takes so many more bytes. It at least doubles one that
// has to grow: a statement encodes some twenty columns one behind the other.
func withRoom(buf []byte, more int) []byte {
	if cap(buf)-len(buf) >= more {
		return buf
	}
	bigger := make([]byte, len(buf), max(2*cap(buf), len(buf)+more))
	copy(bigger, buf)
	return bigger
}

func parseUUID(text string) (id [16]byte, err error) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, fmt.Errorf("%q is not a UUID", text)
	}
	var digits [32]byte
	copy(digits[:8], text[:8])
	copy(digits[8:12], text[9:13])
	copy(digits[12:16], text[14:18])
	copy(digits[16:20], text[19:23])
	copy(digits[20:], text[24:])
	if _, err := hex.Decode(id[:], digits[:]); err != nil {
		return id, fmt.Errorf("%q is not a UUID: %w", text, err)
	}
	return id, nil
}

// columnCodec adds columns to what an array type of pgx can encode.
type columnCodec struct {
	pgtype.Codec
	element uint32
}

// registerColumns teaches a connection to send columns.
func registerColumns(conn *pgx.Conn) {
	types := conn.TypeMap()
	for array, element := range map[uint32]uint32{
		pgtype.TextArrayOID:        pgtype.TextOID,
		pgtype.UUIDArrayOID:        pgtype.UUIDOID,
		pgtype.Int8ArrayOID:        pgtype.Int8OID,
		pgtype.Int4ArrayOID:        pgtype.Int4OID,
		pgtype.BoolArrayOID:        pgtype.BoolOID,
		pgtype.ByteaArrayOID:       pgtype.ByteaOID,
		pgtype.TimestamptzArrayOID: pgtype.TimestamptzOID,
		pgtype.DateArrayOID:        pgtype.DateOID,
	} {
		if known, ok := types.TypeForOID(array); ok {
			types.RegisterType(&pgtype.Type{
				Name: known.Name, OID: array, Codec: columnCodec{known.Codec, element},
			})
		}
	}
}

// PlanEncode implements pgtype.Codec.
func (c columnCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(column); ok {
		if format != pgtype.BinaryFormatCode {
			return nil
		}
		return encodeColumn{c.element}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type encodeColumn struct{ element uint32 }

// Encode writes the binary form of a one-dimensional array.
func (e encodeColumn) Encode(value any, buf []byte) ([]byte, error) {
	c := value.(column)
	length := c.length()
	dimensions := uint32(1)
	if length == 0 {
		dimensions = 0
	}
	const mayHaveNulls = 1
	buf = binary.BigEndian.AppendUint32(buf, dimensions)
	buf = binary.BigEndian.AppendUint32(buf, mayHaveNulls)
	buf = binary.BigEndian.AppendUint32(buf, e.element)
	if length == 0 {
		return buf, nil
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(length))
	buf = binary.BigEndian.AppendUint32(buf, 1) // lower bound
	buf = withRoom(buf, c.size())
	var err error
	for i := range length {
		if buf, err = c.appendElement(buf, i); err != nil {
			return nil, err
		}
	}
	return buf, nil
}
