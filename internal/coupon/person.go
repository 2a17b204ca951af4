package coupon

import "strings"

// FoldPerson gives the identity that a person's id stands for: white space around it does
// not count, nor does the letter case of a mail address.
func FoldPerson(id string) string {
	id = strings.TrimSpace(id)
	if strings.Contains(id, "@") {
		return strings.ToLower(id)
	}
	return id
}

// Personal is a fact that names people.
type Personal interface {
	Fact
	// Persons lists them as they were named, "" not among them.
	Persons() []string
	// resolved gives the same fact with the person in the place of each id.
	resolved(person func(string) string) Fact
}

// person gives the one person that an id stands for.
func (w *World) person(id string) string {
	id = FoldPerson(id)
	if person, alias := w.aliases[id]; alias {
		return person
	}
	return id
}

// resolve puts persons in the place of the ids that a fact names them by.
func (w *World) resolve(f Fact) Fact {
	if personal, ok := f.(Personal); ok {
		return personal.resolved(w.person)
	}
	return f
}

func (f OrderPlaced) Persons() []string     { return present(f.Customer) }
func (f LockCoupon) Persons() []string      { return present(f.Customer) }
func (f RedeemRequested) Persons() []string { return present(f.Customer) }
func (f ImportCoupon) Persons() []string    { return present(f.Owner) }
func (f ClaimCoupon) Persons() []string     { return present(f.Person) }
func (f IssueCoupons) Persons() []string {
	ids := make([]string, len(f.Items))
	for i := range f.Items {
		ids[i] = f.Items[i].Person
	}
	return present(ids...)
}

func (f OrderPlaced) resolved(person func(string) string) Fact {
	f.Customer = person(f.Customer)
	return f
}

func (f LockCoupon) resolved(person func(string) string) Fact {
	f.Customer = person(f.Customer)
	return f
}

func (f RedeemRequested) resolved(person func(string) string) Fact {
	f.Customer = person(f.Customer)
	return f
}

func (f ImportCoupon) resolved(person func(string) string) Fact {
	f.Owner = person(f.Owner)
	return f
}

func (f ClaimCoupon) resolved(person func(string) string) Fact {
	f.Person = person(f.Person)
	return f
}

func (f IssueCoupons) resolved(person func(string) string) Fact {
	items := make([]IssueItem, len(f.Items))
	for i, item := range f.Items {
		item.Person = person(item.Person)
		items[i] = item
	}
	f.Items = items
	return f
}
