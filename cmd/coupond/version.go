package main

import "runtime/debug"

// version is that of the module, with the revision if it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			text += " " + setting.Value[:min(12, len(setting.Value))]
		}
	}
	return text
}
