package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

type versionCommand struct{}

// build is which program this is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

func (versionCommand) Run(s *session) error { return s.write(thisBuild()) }

func thisBuild() build {
	b := build{Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.Revision = setting.Value
		}
	}
	return b
}

// WriteText prints one line.
func (b build) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "couponctl %s %s\n", b.Version, b.Go)
	return err
}
