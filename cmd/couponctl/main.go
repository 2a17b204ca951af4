// Command couponctl is the operator's hand: it migrates, imports, publishes by
// hand, corrects, shows what happened to a coupon, and proves that the books are right.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1
	exitFindings = 2 // findings, failed checks, or wrong usage
	exitConflict = 3 // refused, or what is there contradicts what was asked for
)

// cli is the command line.
type cli struct {
	Output          console.Format `enum:"text,json" default:"text" short:"o" help:"How results are written: ${enum}."`
	config.Services `embed:"" group:"Services"`

	Migrate    migrateCommand            `cmd:"" help:"Change the database schema."`
	Topology   topologyCommand           `cmd:"" help:"Show, apply or compare the broker layout."`
	Templates  templatesCommand          `cmd:"" help:"Make, change and show what coupons have in common: campaigns."`
	Quota      quotaCommand              `cmd:"" help:"Compare the stocks of campaigns in Redis with the database, and load them anew."`
	Coupons    couponsCommand            `cmd:"" help:"Import or issue coupons, or show one."`
	Timeline   timelineCommand           `cmd:"" help:"Tell everything that ever touched a coupon."`
	Lock       lockCommand               `cmd:"" help:"Lease a coupon to a quote."`
	Renew      renewCommand              `cmd:"" help:"Give a lease a later deadline."`
	Release    releaseCommand            `cmd:"" help:"Give a leased coupon back."`
	Redeem     redeemCommand             `cmd:"" help:"Use a leased coupon up."`
	Void       voidCommand               `cmd:"" help:"Withdraw a coupon."`
	Reverse    reverseCommand            `cmd:"" help:"Take a redemption or a withdrawal back."`
	Return     returnCommand             `cmd:"" help:"Apply the return policy to a used coupon."`
	Swap       swapCommand               `cmd:"" help:"Replace coupons of an order, all or nothing."`
	Flow       flowCommand               `cmd:"" help:"Show redemptions at tills."`
	Audit      auditCommand              `cmd:"" help:"Show what people did by hand."`
	Persons    personsCommand            `cmd:"" help:"Show, link and erase persons."`
	Review     reviewCommand             `cmd:"" help:"Show cases that wait for a person, and decide them."`
	Dead       deadCommand               `cmd:"" help:"Find, correct and replay messages that could not be applied."`
	Jobs       jobsCommand               `cmd:"" help:"Follow and steer replays of dead letters."`
	Reconcile  reconcileCommand          `cmd:"" help:"Find what is wrong between orders, payments, refunds and coupons."`
	Gate       gateCommand               `cmd:"" help:"Say whether anything stands against a release."`
	Check      checkCommand              `cmd:"" help:"Prove the invariants on the whole database."`
	Replay     replayCommand             `cmd:"" help:"Prove that the ledger gives every coupon as it is."`
	Doctor     doctorCommand             `cmd:"" help:"Find out what is wrong with the installation, and what to do."`
	Publish    publishCommand            `cmd:"" help:"Publish a fact as an upstream service would."`
	Cases      casesCommand              `cmd:"" help:"Run acceptance cases."`
	Demo       demoCommand               `cmd:"" help:"Show the product at work on real services, from nothing."`
	Version    versionCommand            `cmd:"" help:"Print the version."`
	Completion kongcompletion.Completion `cmd:"" help:"Print how to switch shell completion on."`
}

const description = `The operator's hand of Couponlease.

Exit codes: 0 done; 1 error; 2 findings, failed checks or wrong usage; 3 refused, or what is there contradicts what was
asked for.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once told to stop, the next signal kills: nobody has to wait for a clean end.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exited is how kong's exits, such as that of --help, reach run.
type exited int

// run is the whole program: it reads the arguments, does the one thing they ask
// for, and gives the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
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
	exit := func(code int) { panic(exited(code)) }
	parser, err := kong.New(&c, kong.Name("couponctl"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, Tree: true, WrapUpperBound: 100}))
	if err != nil {
		panic(fmt.Errorf("the command line contradicts itself: %w", err))
	}
	kongcompletion.Register(parser, kongcompletion.WithExitFunc(exit))
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "couponctl: %v\n", err)
		var wrong *kong.ParseError
		if errors.As(err, &wrong) && wrong.Context != nil {
			fmt.Fprintf(stderr, "run `couponctl %s--help` to see what there is\n", commandPath(wrong.Context))
		}
		return exitFindings
	}
	s := &session{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, format: c.Output, services: c.Services,
		rules: coupon.DefaultRules()}
	if err := c.CheckTLS(); err != nil {
		return s.exitCode(console.Usage(err))
	}
	return s.exitCode(parsed.Run(s))
}

// commandPath is the command as far as it was understood, with a space behind.
func commandPath(parsed *kong.Context) (path string) {
	for _, step := range parsed.Path {
		if step.Command != nil {
			path += step.Command.Name + " "
		}
	}
	return path
}

// errFindings ends a command that did its work and found something wrong; the
// result has said what.
var errFindings = errors.New("findings")

// exitCode tells what went wrong, if anything, in one line.
func (s *session) exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errRefused):
		return exitConflict
	case s.ctx.Err() != nil:
		fmt.Fprintf(s.stderr, "couponctl: interrupted: %v\n", err)
		return exitError
	}
	fmt.Fprintf(s.stderr, "couponctl: %v\n", err)
	switch {
	case errors.Is(err, console.ErrConflict):
		return exitConflict
	case errors.Is(err, console.ErrUsage):
		return exitFindings
	default:
		return exitError
	}
}
