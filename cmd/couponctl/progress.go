package main

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far a long command came, on standard error and only when a
// person is looking. show is told what has been done of total, 0 if nobody knows;
// end takes the bar away.
func (s *session) progress(what string, total int64) (show func(done int64), end func()) {
	file, isFile := s.stderr.(*os.File)
	if !isFile {
		return func(int64) {}, func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(int64) {}, func() {}
	}
	bars := mpb.New(mpb.WithOutput(file), mpb.WithWidth(40))
	bar := bars.AddBar(total, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(what+" "), decor.CurrentNoUnit("%d ")),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS)))
	return bar.SetCurrent, func() {
		bar.Abort(true)
		bars.Wait()
	}
}
