package simulate

import "slices"

// exhaustive is the largest group of parallel steps of which every order is
// run; larger groups run forward and backward.
const exhaustive = 5

// Interleavings gives the orders in which the steps of a case are run, as
// indexes into the sequence: steps that share a par label change places with
// each other in every way.
func Interleavings(steps []Step) [][]int {
	first := make([]int, len(steps))
	for i := range first {
		first[i] = i
	}
	orders := [][]int{first}
	for _, places := range parallel(steps) {
		var more [][]int
		for _, order := range orders {
			for _, arrangement := range arrangements(places) {
				next := slices.Clone(order)
				for i, place := range places {
					next[place] = arrangement[i]
				}
				more = append(more, next)
			}
		}
		orders = more
	}
	return orders
}

// countInterleavings gives how many orders there are, without making them; it
// stops counting above maxOrders.
func countInterleavings(steps []Step) int {
	count := 1
	for _, places := range parallel(steps) {
		factor := 2
		if len(places) <= exhaustive {
			factor = 1
			for n := range places {
				factor *= n + 1
			}
		}
		if count *= factor; count > maxOrders {
			return count
		}
	}
	return count
}

// parallel gives the places of the steps of each par label, in the order in
// which the labels appear.
func parallel(steps []Step) [][]int {
	groups := map[string][]int{}
	var labels []string
	for i := range steps {
		label := steps[i].Par
		if label == "" {
			continue
		}
		if groups[label] == nil {
			labels = append(labels, label)
		}
		groups[label] = append(groups[label], i)
	}
	var places [][]int
	for _, label := range labels {
		places = append(places, groups[label])
	}
	return places
}

func arrangements(items []int) [][]int {
	if len(items) > exhaustive {
		backward := slices.Clone(items)
		slices.Reverse(backward)
		return [][]int{items, backward}
	}
	return Permutations(items)
}

// Permutations gives every order of the items, in lexical order of positions.
func Permutations[T any](items []T) [][]T {
	if len(items) == 0 {
		return [][]T{{}}
	}
	var all [][]T
	for i := range items {
		rest := append(slices.Clone(items[:i]), items[i+1:]...)
		for _, tail := range Permutations(rest) {
			all = append(all, append([]T{items[i]}, tail...))
		}
	}
	return all
}
