package client

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"
)

// newID draws a UUID of version 7: the time in milliseconds, then 74 random bits.
func newID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16)
	_, _ = rand.Read(id[6:]) // documented never to fail
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
