package main

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a long command came, on standard error and only when a
// person is looking. show is told what has been done of total, which is 0 as long
// as nobody knows it; end takes the bar away.
func (s *session) progress(what string) (show func(done, total int64), end func()) {
	file, isFile := s.stderr.(*os.File)
	if !isFile {
		return func(int64, int64) {}, func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int64, int64) {}, func() {}
	}
	bars := mpb.New(mpb.WithOutput(file), mpb.WithWidth(40))
	var bar *mpb.Bar
	show = func(done, total int64) {
		if bar == nil {
			bar = addBar(bars, what, total)
		}
		bar.SetTotal(max(total, done+1), false)
		bar.SetCurrent(done)
	}
	return show, func() {
		if bar != nil {
			bar.Abort(true)
		}
		bars.Wait()
	}
}

func addBar(bars *mpb.Progress, what string, total int64) *mpb.Bar {
	name, elapsed := decor.Name(what+" "), mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS))
	if total == 0 {
		return bars.New(0, mpb.SpinnerStyle(), mpb.BarWidth(1), mpb.BarRemoveOnComplete(), elapsed,
			mpb.PrependDecorators(name, decor.CurrentNoUnit("%d ")))
	}
	return bars.New(total, mpb.BarStyle(), mpb.BarRemoveOnComplete(), elapsed,
		mpb.PrependDecorators(name, decor.CountersNoUnit("%d / %d ")))
}
