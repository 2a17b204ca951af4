package main

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a long command came, on standard error and only when a
// person is looking. show is told what has been done of total, 0 if nobody knows
// the total; end takes the bar away.
func (s *session) progress(what string) (show func(done, total int64), end func()) {
	file, isFile := s.stderr.(*os.File)
	if !isFile {
		return func(int64, int64) {}, func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int64, int64) {}, func() {}
	}
	bars := mpb.New(mpb.WithOutput(file), mpb.WithWidth(40))
	bar := bars.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d / %d ")),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS)))
	show = func(done, total int64) {
		bar.SetTotal(max(total, done+1), false)
		bar.SetCurrent(done)
	}
	return show, func() {
		bar.Abort(true)
		bars.Wait()
	}
}
