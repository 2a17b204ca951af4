package config

import (
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// Reader lets kong read every flag and variable to the end, although some cannot
// be understood, so that all mistakes are reported at once.
//
//	reader := config.NewReader()
//	parser, err := kong.New(&cli, reader.Options()...)
//	...
//	ctx, err := parser.Parse(args)
//	...
//	err = reader.Check(ctx)
type Reader struct {
	unread []string
}

// NewReader is for one call of kong's Parse.
func NewReader() *Reader { return &Reader{} }

// Options make kong lenient towards numbers and durations, let a value begin with
// a minus, and show bounds and variables in the help.
func (r *Reader) Options() []kong.Option {
	whole := func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
	duration := func(text string) (int64, error) {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
	return []kong.Option{
		kong.KindMapper(reflect.Int, r.lenient(whole)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), r.lenient(duration)),
		kong.WithHyphenPrefixedParameters(true),
		kong.ValueFormatter(describe),
	}
}

// Check returns an *Error that lists everything wrong with the settings of the
// command that kong has parsed, nil if nothing is.
func (r *Reader) Check(ctx *kong.Context) error {
	var flags []*kong.Flag
	for _, flag := range ctx.Flags() {
		if len(flag.Envs) > 0 {
			flags = append(flags, flag)
		}
	}
	return check(flags, r.unread)
}

// lenient decodes a number. Text that is none is kept, and its place among those
// kept becomes the value: far below what any setting allows, and in the setting
// only if nothing that overrides the text could be read.
func (r *Reader) lenient(parse func(string) (int64, error)) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err != nil {
			value = math.MinInt64 + int64(len(r.unread))
			r.unread = append(r.unread, text)
		}
		target.SetInt(value)
		return nil
	})
}

func wasUnread(value int64, unread []string) (text string, ok bool) {
	if place := value - math.MinInt64; value < 0 && place < int64(len(unread)) {
		return unread[place], true
	}
	return "", false
}

// describe is the help of one setting: meaning, bounds, variable.
func describe(value *kong.Value) string {
	help := value.Help
	if value.Flag == nil || len(value.Flag.Envs) == 0 {
		return help
	}
	if allowed := bounds(value.Flag); allowed != "" {
		help += " Allowed: " + allowed + "."
	}
	return help + " ($" + value.Flag.Envs[0] + ")"
}
