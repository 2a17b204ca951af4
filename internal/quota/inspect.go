package quota

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Facts are what a Redis server says about itself.
type Facts struct {
	Version string
	// Clock is the server's; Asked and Answered are ours around it.
	Clock, Asked, Answered time.Time
	// AppendOnly and Snapshots say how it keeps data over a restart; LastSaveFailed that
	// the last attempt to write failed.
	AppendOnly, Snapshots, LastSaveFailed bool
	// Eviction is what it does when its memory is full.
	Eviction string
	// Replica says that it takes no writes.
	Replica bool
}

// Inspect asks the server about itself.
func (c *Client) Inspect(ctx context.Context) (f Facts, err error) {
	info, err := c.redis.Info(ctx).Result()
	if err != nil {
		return f, fmt.Errorf("ask Redis about itself: %w", err)
	}
	fields := infoFields(info)
	f.Version, f.Eviction = fields["redis_version"], fields["maxmemory_policy"]
	f.AppendOnly, f.Replica = fields["aof_enabled"] == "1", fields["role"] != "master"
	f.LastSaveFailed = fields["rdb_last_bgsave_status"] == "err" || f.AppendOnly && fields["aof_last_write_status"] == "err"
	// A managed server may forbid to read its configuration; then nobody knows.
	if save, err := c.redis.ConfigGet(ctx, "save").Result(); err == nil {
		f.Snapshots = save["save"] != ""
	}
	f.Asked = time.Now()
	if f.Clock, err = c.redis.Time(ctx).Result(); err != nil {
		return f, fmt.Errorf("ask Redis for its clock: %w", err)
	}
	f.Answered = time.Now()
	return f, nil
}

// infoFields reads an answer to INFO.
func infoFields(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	return fields
}
