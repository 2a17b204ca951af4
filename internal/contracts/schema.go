package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"couponlease/messages"
)

// Patterns say what the decoders check beyond what the struct tags can say.
// They hold the characters themselves where the regular expressions of ECMAScript
// and of others write an escape differently.
const (
	controls = `\x00-\x1f\x7f-\x9f`
	spaces   = " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	// textPattern: not only white space, and no control characters.
	textPattern = `^[^` + controls + `]*[^` + spaces + controls + `][^` + controls + `]*$`
	// timePattern: RFC 3339 with a zone, from 1970.
	timePattern = `^(19[7-9]\d|[2-9]\d{3})-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-][0-2]\d:[0-5]\d)$`
)

// positive lists the amounts that must be more than nothing.
var positive = map[string]string{
	messages.TypePaymentSucceeded: "amount",
	messages.TypeRefundApproved:   "amount",
}

// endingLease lists the commands that lease a coupon for a time that has an end,
// so that leaseSeconds must not be null.
var endingLease = map[string]bool{
	messages.TypeLockCoupon:      true,
	messages.TypeRedeemRequested: true,
	messages.TypeSwapCoupons:     true,
}

func schemaFile(messageType string) string { return messageType + ".schema.json" }

// addSchemas makes one JSON Schema per message from its Go type.
func addSchemas(files artifacts, root string, samples []sample) error {
	comments, err := docComments(root)
	if err != nil {
		return err
	}
	for _, contract := range messages.Contracts() {
		var goType reflect.Type
		for _, s := range samples {
			if s.message.MessageType() == contract.Type {
				goType = reflect.TypeOf(s.message)
				break
			}
		}
		if goType == nil {
			return fmt.Errorf("%s has no sample, so its type is not known", contract.Type)
		}
		text, err := json.MarshalIndent(schemaOf(contract, goType, comments), "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", contract.Type, err)
		}
		files[schemaDir+"/"+schemaFile(contract.Type)] = append(text, '\n')
	}
	return nil
}

// docComments reads the doc comments of package messages. They are keyed by the
// path they were read from, which is cut down to the type and field.
func docComments(root string) (map[string]string, error) {
	var r jsonschema.Reflector
	if err := r.AddGoComments("", filepath.Join(root, "messages"), jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read doc comments: %w", err)
	}
	comments := make(map[string]string, len(r.CommentMap))
	for key, text := range r.CommentMap {
		_, name, _ := strings.Cut(key, "messages.")
		comments[name] = strings.Join(strings.Fields(text), " ")
	}
	return comments, nil
}

func schemaOf(contract messages.Contract, goType reflect.Type, comments map[string]string) *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous:                 true,
		ExpandedStruct:            true,
		AllowAdditionalProperties: true,
		Mapper:                    mapType,
		LookupComment: func(t reflect.Type, field string) string {
			return describe(comments, t, field)
		},
	}
	s := r.ReflectFromType(goType)
	s.ID = jsonschema.ID("urn:couponlease:" + contract.Type)
	s.Title = contract.Name
	if field, ok := positive[contract.Type]; ok {
		requirePositive(s, field)
	}
	if endingLease[contract.Type] {
		requireEnd(s, "leaseSeconds")
	}
	if contract.Type == messages.TypeSwapCoupons {
		requireOneOf(s, "drop", "add")
	}
	addPatterns(s)
	for _, definition := range s.Definitions {
		addPatterns(definition)
	}
	return s
}

// describe turns a doc comment into a description: the comment begins with the
// Go name, the description with the name on the wire.
func describe(comments map[string]string, t reflect.Type, name string) string {
	if name == "" {
		return comments[t.Name()]
	}
	text := comments[t.Name()+"."+name]
	field, _ := t.FieldByName(name)
	wireName, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		return wireName + " " + rest
	}
	return text
}

// mapType describes the types whose JSON form is not their Go form.
func mapType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time", Pattern: timePattern}
	case reflect.TypeFor[messages.LeaseTerm]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "1", Maximum: json.Number(fmt.Sprint(messages.MaxLeaseSeconds))},
			{Type: "null"},
		}}
	default:
		return nil
	}
}

// requirePositive narrows one amount of money to more than nothing.
func requirePositive(s *jsonschema.Schema, field string) {
	property, _ := s.Properties.Get(field)
	amount := jsonschema.NewProperties()
	amount.Set("amount", &jsonschema.Schema{Minimum: "1"})
	property.Properties = amount
}

// requireEnd takes the choice of null from a lease term.
func requireEnd(s *jsonschema.Schema, field string) {
	property, _ := s.Properties.Get(field)
	seconds := property.OneOf[0]
	seconds.Description = property.Description
	s.Properties.Set(field, seconds)
}

// requireOneOf demands that one of two lists is not empty.
func requireOneOf(s *jsonschema.Schema, lists ...string) {
	one := uint64(1)
	for _, list := range lists {
		filled := jsonschema.NewProperties()
		filled.Set(list, &jsonschema.Schema{Type: "array", MinItems: &one})
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Required: []string{list}, Properties: filled})
	}
}

// addPatterns adds textPattern to every bounded text that has no other pattern.
func addPatterns(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "string" && s.MaxLength != nil && s.Pattern == "" {
		s.Pattern = textPattern
	}
	for _, choice := range s.OneOf {
		addPatterns(choice)
	}
	addPatterns(s.Items)
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		addPatterns(pair.Value)
	}
}
