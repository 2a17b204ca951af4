package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"couponlease/internal/config"
)

const (
	// startTimeout bounds how long a daemon may take until it is ready.
	startTimeout = 30 * time.Second
	// stopTimeout bounds how long a daemon may take to end by itself.
	stopTimeout = 30 * time.Second
	// logTail is how much of a daemon's log an error quotes, in bytes.
	logTail = 4 << 10
)

// daemon is one running coupond.
type daemon struct {
	command *exec.Cmd
	address string
	log     *os.File
	done    chan struct{}
	err     error
}

// findDaemon gives the daemon's program: the one named, else built from the
// source in the working directory, else the one beside this program.
func findDaemon(ctx context.Context, named, scratch string) (path, origin string, err error) {
	if named != "" {
		return named, "as told", nil
	}
	if goTool, err := exec.LookPath("go"); err == nil && inSource() {
		path = filepath.Join(scratch, "coupond")
		build := exec.CommandContext(ctx, goTool, "build", "-buildvcs=false", "-o", path, "./cmd/coupond")
		if out, err := build.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("build coupond: %w\n%s", err, out)
		}
		return path, "built from source", nil
	}
	if self, err := os.Executable(); err == nil {
		path = filepath.Join(filepath.Dir(self), "coupond")
		if _, err := os.Stat(path); err == nil {
			return path, "beside couponctl", nil
		}
	}
	return "", "", errors.New("there is no coupond: run this in the source tree, put coupond beside couponctl, " +
		"or name it with --coupond")
}

// inSource says whether the working directory is the source of this program.
func inSource() bool {
	module, err := os.ReadFile("go.mod")
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join("cmd", "coupond"))
	return err == nil && strings.HasPrefix(string(module), "module couponlease\n")
}

// startDaemon runs a daemon and does not wait for it to be ready.
func startDaemon(program, logFile string, services config.Services) (*daemon, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	d := &daemon{command: exec.Command(program), address: address, log: log, done: make(chan struct{})}
	// A group of its own: an interrupt at the terminal is for this program, which then
	// stops the daemon the orderly way.
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Settings that the user's environment has for daemons of their own stay out.
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "COUPONLEASE_") {
			d.command.Env = append(d.command.Env, variable)
		}
	}
	d.command.Env = append(d.command.Env,
		"COUPONLEASE_POSTGRES_URL="+services.PostgresURL, "COUPONLEASE_POSTGRES_CA_FILE="+services.PostgresCAFile,
		"COUPONLEASE_POSTGRES_CERT_FILE="+services.PostgresCertFile, "COUPONLEASE_POSTGRES_KEY_FILE="+services.PostgresKeyFile,
		"COUPONLEASE_AMQP_URL="+services.AMQPURL, "COUPONLEASE_AMQP_CA_FILE="+services.AMQPCAFile,
		"COUPONLEASE_AMQP_CERT_FILE="+services.AMQPCertFile, "COUPONLEASE_AMQP_KEY_FILE="+services.AMQPKeyFile,
		"COUPONLEASE_AMQP_MANAGEMENT_URL="+services.AMQPManagementURL, "COUPONLEASE_HTTP_ADDR="+address,
		"COUPONLEASE_TOKEN_KEYS="+services.TokenKeys, "COUPONLEASE_TOKEN_KEYS_FILE="+services.TokenKeysFile)
	d.command.Stdout, d.command.Stderr = log, log
	if err := d.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start coupond: %w", err), log.Close())
	}
	go func() {
		d.err = d.command.Wait()
		close(d.done)
	}()
	return d, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// ready waits until the daemon says that it works.
func (d *daemon) ready(ctx context.Context) error {
	return eventually(ctx, startTimeout, func(ctx context.Context) (string, error) {
		select {
		case <-d.done:
			return "", fmt.Errorf("coupond ended: %w\n%s", errors.Join(errors.New(d.command.ProcessState.String()), d.err),
				d.tail())
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+"/readyz", nil)
		if err != nil {
			return "", err
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return "coupond is not ready: " + err.Error(), nil
		}
		defer reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			return "coupond is not ready: " + reply.Status, nil
		}
		return "", nil
	})
}

// stop ends the daemon the orderly way, and in the end by force.
func (d *daemon) stop() error {
	defer d.log.Close()
	select {
	case <-d.done:
		return fmt.Errorf("coupond ended before it was told to: %s\n%s", d.command.ProcessState, d.tail())
	default:
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop coupond: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
		kill := d.command.Process.Kill()
		<-d.done
		return errors.Join(fmt.Errorf("coupond had to be killed after %s\n%s", stopTimeout, d.tail()), kill)
	}
	if d.err != nil {
		return fmt.Errorf("coupond: %w\n%s", d.err, d.tail())
	}
	return nil
}

// tail is the end of the daemon's log.
func (d *daemon) tail() string {
	size, err := d.log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, logTail))
	n, _ := d.log.ReadAt(text, size-int64(len(text)))
	return string(text[:n])
}
