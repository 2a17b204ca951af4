package simulate

import "slices"

// exhaustive is the largest group of parallel steps of which every order is
// run; larger groups run forward and backward.
const exhaustive = 5

// Interleavings gives the orders in which the steps of a case are run, as
// indexes into the sequence: steps that share a par label change places with
// each other in every way.
func Interleavings(steps []Step) [][]int {
	groups := map[string][]int{}
	var labels []string
	for i, step := range steps {
		if step.Par == "" {
			continue
		}
		if groups[step.Par] == nil {
			labels = append(labels, step.Par)
		}
		groups[step.Par] = append(groups[step.Par], i)
	}
	first := make([]int, len(steps))
	for i := range first {
		first[i] = i
	}
	orders := [][]int{first}
	for _, label := range labels {
		places := groups[label]
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
