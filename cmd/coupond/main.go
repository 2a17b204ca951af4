// Command coupond is the daemon: it takes messages, owns the state of every
// coupon, and tells the world what happened.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"couponlease/internal/config"
	"couponlease/internal/daemon"
)

// Exit codes. A second signal ends with 128 and its number.
const (
	exitClean  = 0
	exitError  = 1
	exitWrong  = 2
	exitSignal = 128
)

// cli is the command line.
type cli struct {
	config.Daemon `embed:""`

	Version kong.VersionFlag `help:"Print the version and stop." group:"Process"`

	Run    runCommand    `cmd:"" default:"1" help:"Run the daemon until a signal; this is what happens without a command."`
	Config configCommand `cmd:"" help:"Print the settings in effect, without secrets, and stop."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how to switch shell completion on."`
}

const description = `Couponlease owns the state of every coupon of a shop.

Every setting is a flag or an environment variable; the flag wins. One signal (SIGTERM, SIGINT) stops after
finishing what is in flight, a second one stops at once.

Exit codes: 0 stopped as told; 1 something failed; 2 wrong settings, all of which are listed; 130 or 143
stopped at once by a second signal.`

// gcPercent lets the heap grow to three times what lives before it is collected,
// which saves a sixth of the CPU time under load; memoryLimit, in bytes, collects
// earlier when that would take more than a small machine has to spare. What lives is
// small, because everything in flight is bounded.
const (
	gcPercent   = 200
	memoryLimit = 112 << 20
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := untilSignal(context.Background(), os.Exit)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// exited is how kong's exits, such as that of --help, reach run.
type exited int

// run is the whole program, and gives the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch left := recover().(type) {
		case nil:
		case exited:
			code = int(left)
		default:
			panic(left)
		}
	}()
	var c cli
	reader := config.NewReader()
	exit := func(code int) { panic(exited(code)) }
	parser, err := kong.New(&c, append(reader.Options(),
		kong.Name("coupond"), kong.Description(description), kong.Vars{"version": version()},
		kong.Writers(stdout, stderr), kong.Exit(exit))...)
	if err != nil {
		panic(fmt.Errorf("the command line contradicts itself: %w", err))
	}
	kongcompletion.Register(parser, kongcompletion.WithExitFunc(exit))
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "coupond: %v\nrun `coupond --help` to see what there is\n", err)
		return exitWrong
	}
	if parsed.Command() == "run" || parsed.Command() == "config" {
		if err := reader.Check(parsed); err != nil {
			fmt.Fprintf(stderr, "coupond: %v\nrun `coupond --help` to see what each setting means\n", err)
			return exitWrong
		}
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.BindTo(stdout, (*io.Writer)(nil))
	logger := newLogger(stderr, c.Daemon)
	if err := parsed.Run(&c.Daemon, logger); err != nil {
		return failed(stderr, logger, err)
	}
	return exitClean
}

// failed tells why the program ends.
func failed(stderr io.Writer, logger *slog.Logger, err error) int {
	var wrong *config.Error
	if errors.As(err, &wrong) {
		fmt.Fprintf(stderr, "coupond: %v\n", err)
		return exitWrong
	}
	logger.Error("coupond has failed", "error", err)
	return exitError
}

type runCommand struct{}

// Run works until ctx ends.
func (runCommand) Run(ctx context.Context, cfg *config.Daemon, logger *slog.Logger) error {
	return daemon.Run(ctx, *cfg, version(), logger)
}

func newLogger(to io.Writer, cfg config.Daemon) *slog.Logger {
	var level slog.Level
	// Text that is no level was reported before; the zero level is info.
	_ = level.UnmarshalText([]byte(cfg.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
