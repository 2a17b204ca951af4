package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"couponlease/internal/coupon"
)

// Limits on a file of templates.
const (
	// MaxTemplateFile bounds the file, in bytes.
	MaxTemplateFile = 1 << 20
	// MaxFileTemplates is how many templates one file may name.
	MaxFileTemplates = 1000
	// maxFileMistakes bounds how many mistakes are told at once.
	maxFileMistakes = 20
)

// TemplateDocument is a template as a file says it: in full, so that what is not named
// does not exist. Only a status that is not named stays what it is.
type TemplateDocument struct {
	Template      string `yaml:"template"`
	TemplateTerms `yaml:",inline"`

	line int
}

// ReadTemplates reads YAML: a list of templates, or several in documents of their own.
// All mistakes of the file, apart from the last ones of very many, are one ErrUsage that
// names their lines.
func ReadTemplates(source io.Reader) ([]TemplateDocument, error) {
	content, err := io.ReadAll(io.LimitReader(source, MaxTemplateFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	if len(content) > MaxTemplateFile {
		return nil, Usage(fmt.Errorf("the file is larger than %d KiB: split it", MaxTemplateFile>>10))
	}
	var all []TemplateDocument
	decoder, lines := yaml.NewDecoder(bytes.NewReader(content)), yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	for {
		var (
			documents []TemplateDocument
			node      yaml.Node
		)
		err := decoder.Decode(&documents)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Usage(mistakes(err))
		}
		if err := lines.Decode(&node); err != nil {
			return nil, Usage(mistakes(err))
		}
		for i := range documents {
			documents[i].line = node.Content[0].Content[i].Line
		}
		if all = append(all, documents...); len(all) > MaxFileTemplates {
			return nil, Usage(fmt.Errorf("the file names more than %d templates: split it", MaxFileTemplates))
		}
	}
	if len(all) == 0 {
		return nil, Usage(errors.New("the file names no template: write a list, of which each begins with `- template: ID`"))
	}
	return all, checkDocuments(all)
}

// checkDocuments says what is impossible whatever the database holds.
func checkDocuments(documents []TemplateDocument) error {
	var wrong []string
	lines := map[string]int{}
	for i := range documents {
		d := &documents[i]
		err := checkTemplateID(d.Template)
		if err == nil {
			var terms coupon.Terms
			if terms, err = d.whole(""); err == nil {
				err = terms.Validate()
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("line %d: template %q: %v", d.line, d.Template, err))
		} else if earlier := lines[d.Template]; earlier > 0 {
			wrong = append(wrong, fmt.Sprintf("line %d: template %q is in line %d already", d.line, d.Template, earlier))
		}
		lines[d.Template] = d.line
	}
	if len(wrong) == 0 {
		return nil
	}
	return Usage(mistakes(&yaml.TypeError{Errors: wrong}))
}

var (
	ofType  = regexp.MustCompile(` in type \S+$`)
	noList  = regexp.MustCompile(`cannot unmarshal \S+ (.*)into \[\]console\.TemplateDocument`)
	noMap   = regexp.MustCompile(`cannot unmarshal \S+ (.*)into console\.TemplateDocument`)
	noValue = regexp.MustCompile(`cannot unmarshal !!(\w+) (.*)into (\S+)$`)
)

// mistakes tells what is wrong with a file in the words of its writer.
func mistakes(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	told := several.Errors[:min(len(several.Errors), maxFileMistakes)]
	texts := make([]string, 0, len(told)+1)
	for _, text := range told {
		text = ofType.ReplaceAllString(text, ": see `couponctl templates apply --help`")
		text = noList.ReplaceAllString(text, "write a list of templates, of which each begins with `- template: ID`")
		text = noMap.ReplaceAllString(text, "write a template as fields, of which the first is `template: ID`")
		text = noValue.ReplaceAllString(text, "$1 ${2}where $3 belongs")
		texts = append(texts, text)
	}
	if more := len(several.Errors) - len(told); more > 0 {
		texts = append(texts, "and "+count(more, "mistake")+" more")
	}
	return errors.New(strings.Join(slices.Compact(texts), "\n"))
}

// WriteTemplates writes templates so that ReadTemplates reads the same.
func WriteTemplates(w io.Writer, templates []TemplateView) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	documents := make([]TemplateDocument, len(templates))
	for i, t := range templates {
		documents[i] = TemplateDocument{Template: t.ID, TemplateTerms: t.Terms.asWritten()}
	}
	if err := encoder.Encode(documents); err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	return encoder.Close()
}

// asWritten gives terms as people would write them, without what need not be said.
func (t TermsView) asWritten() TemplateTerms {
	terms := TemplateTerms{
		Name: unless("", t.Name), Status: &t.Status, Total: asLimit(t.Total), PerPerson: asLimit(t.PerPerson),
		PerDay: asLimit(t.PerDay), UsesPerPerson: asLimit(t.UsesPerPerson), Budget: asLimit(t.Budget),
		PolicyVersion: unless(unlimited().PolicyVersion, t.PolicyVersion), ValidFrom: asBound(t.ValidFrom),
		ValidUntil: asBound(t.ValidUntil), ValidDays: unless(0, t.ValidDays), Zone: unless("UTC", t.Zone),
		Transferable: unless(false, t.Transferable),
		Currency:     unless("", t.Discount.Currency), MinSpend: unless(0, t.Discount.MinSpend),
	}
	switch d := t.Discount; d.Kind {
	case coupon.AmountOff:
		terms.AmountOff = &d.Amount
	case coupon.NoThreshold:
		terms.NoThreshold = &d.Amount
	case coupon.PercentOff:
		share := Percent(d.BasisPoints)
		terms.PercentOff = &share
	}
	return terms
}

// unless gives a value, nil for the one that need not be said.
func unless[T comparable](usual, value T) *T {
	if value == usual {
		return nil
	}
	return &value
}

func asLimit(n *int64) *Limit {
	if n == nil {
		return nil
	}
	limit := Limit(*n)
	return &limit
}

func asBound(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := boundText(at)
	return &text
}
