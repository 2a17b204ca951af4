package simulate

import (
	"bytes"
	"context"
	"maps"

	"couponlease/internal/coupon"
)

// ErasePerson puts a pseudonym in the place of a person's ids. Coupons, limits and the
// ledger stay as they are; who comes with one of the ids afterwards is somebody new.
func (l *Ledger) ErasePerson(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	person := l.person(id)
	if person == "" {
		return nil
	}
	ids := map[string]bool{coupon.FoldPerson(id): true, person: true}
	for alias, known := range l.aliases {
		if known == person {
			ids[alias] = true
		}
	}
	pseudonym := "erased:" + l.Source.ID()
	l.rename(ids, pseudonym)
	maps.DeleteFunc(l.aliases, func(alias, _ string) bool { return ids[alias] })
	for i := range l.audits {
		row := &l.audits[i]
		if ids[row.Actor] {
			row.Actor = pseudonym
		}
		for id := range ids {
			row.Arguments = bytes.ReplaceAll(row.Arguments, []byte(`"`+id+`"`), []byte(`"`+pseudonym+`"`))
			for i := range row.Corrections {
				if row.Corrections[i].Person == coupon.HashPerson(id) {
					row.Corrections[i].Person = coupon.HashPerson(pseudonym)
				}
			}
		}
	}
	return nil
}

// rename gives what the ids have to another person, who has nothing yet.
func (l *Ledger) rename(ids map[string]bool, person string) {
	for _, c := range l.coupons {
		if ids[c.Owner] {
			c.Owner = person
		}
	}
	for _, o := range l.orders {
		if ids[o.Customer] {
			o.Customer = person
		}
	}
	// Entries are added while others are dropped: copies are walked through.
	for key, uses := range maps.Clone(l.uses) {
		if !ids[key.person] {
			continue
		}
		sum := coupon.Uses{Template: key.template, Person: person, Held: uses.Held}
		if known := l.uses[usesKey{key.template, person}]; known != nil {
			sum.Held += known.Held
		}
		delete(l.uses, key)
		l.uses[usesKey{key.template, person}] = &sum
	}
	for key, old := range maps.Clone(l.numbers) {
		if ids[key.person] {
			sum := l.numbers[usesKey{key.template, person}]
			delete(l.numbers, key)
			l.numbers[usesKey{key.template, person}] = numbers{max(sum.most, old.most), sum.claims + old.claims}
		}
	}
	for key, claims := range maps.Clone(l.claims) {
		if !ids[key.person] {
			continue
		}
		sum := *claims
		sum.Person = person
		if known := l.claims[usesKey{key.template, person}]; known != nil {
			sum = together(sum, *known)
		}
		delete(l.claims, key)
		l.claims[usesKey{key.template, person}] = &sum
		if t := l.templates[key.template]; t != nil {
			restocked(t)
		}
	}
}

// together adds claims up that two ids made; of the day, the later one counts.
func together(a, b coupon.Claims) coupon.Claims {
	if a.Day < b.Day {
		a, b = b, a
	}
	a.Count += b.Count
	if a.Day == b.Day {
		a.OnDay += b.OnDay
	}
	return a
}

// restocked lets the pool of claims be filled anew, and says nothing new about what is
// sold out.
func restocked(t *coupon.Template) {
	if t.ToldSoldOut == t.Generation {
		t.ToldSoldOut++
	}
	t.Generation++
}
