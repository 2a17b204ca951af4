package console

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// header reads which columns a CSV file has, and gives what splits its rows.
func (f *couponFile) header(line string) (split func(line string, values []string) error, err error) {
	delimiter := ','
	if !strings.ContainsRune(line, ',') {
		for _, other := range ";\t" {
			if strings.ContainsRune(line, other) {
				delimiter = other
			}
		}
	}
	if !utf8.ValidString(line) {
		return nil, fmt.Errorf("line %d: the line is not UTF-8", f.line)
	}
	names, err := splitCSV(line, delimiter)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", f.line, err)
	}
	places := make([]int, len(names)) // of the file's columns among all
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		places[i] = slices.Index(f.columns.all, name)
		switch {
		case places[i] < 0:
			return nil, fmt.Errorf("line %d: there is no column %q: the columns are %s",
				f.line, name, strings.Join(f.columns.all, ", "))
		case slices.Contains(places[:i], places[i]):
			return nil, fmt.Errorf("line %d: column %s is named twice", f.line, name)
		}
	}
	if !slices.Contains(places, slices.Index(f.columns.all, f.columns.needed)) {
		return nil, fmt.Errorf("line %d: there is no column %s", f.line, f.columns.needed)
	}
	return func(line string, values []string) error {
		fields, err := splitCSV(line, delimiter)
		if err != nil {
			return err
		}
		if len(fields) != len(places) {
			return badRow("%s instead of the header's %d", count(len(fields), "field"), len(places))
		}
		for i, place := range places {
			values[place] = fields[i]
		}
		return nil
	}, nil
}

// splitCSV splits one line. Most lines have no quotes and need no CSV reader.
func splitCSV(line string, delimiter rune) ([]string, error) {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, string(delimiter)), nil
	}
	reader := csv.NewReader(strings.NewReader(line))
	reader.Comma = delimiter
	fields, err := reader.Read()
	if err != nil {
		return nil, badRow("the quotes do not match; a field cannot span lines")
	}
	return fields, nil
}

// splitObject reads the fields of one JSON object. A number is taken as it is written, so
// that ids may be numbers; null is as if the field were not there.
func (f *couponFile) splitObject(line string, values []string) error {
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return badRow("the line is not a JSON object")
	}
	given := make([]bool, len(values))
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return badRow("the line is not a JSON object")
		}
		place := slices.Index(f.columns.all, name)
		switch {
		case place < 0:
			return badRow("there is no field %q: the fields are %s", name, strings.Join(f.columns.all, ", "))
		case given[place]:
			return badRow("field %s is there twice", name)
		}
		given[place] = true
		if values[place], err = scalar(decoder, name); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return badRow("the line is not a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRow("something follows the JSON object")
	}
	return nil
}

// scalar reads the text of a field.
func scalar(decoder *json.Decoder, name string) (string, error) {
	token, err := decoder.Token()
	if err != nil {
		return "", badRow("the line is not a JSON object")
	}
	switch value := token.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	default:
		return "", badRow("field %s is neither a text nor a number", name)
	}
}
