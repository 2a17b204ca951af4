package main

import (
	"couponlease/internal/batcher"
	"couponlease/internal/store"
)

// classify tells the batcher what an error of the store means.
func classify(err error) batcher.Class {
	switch store.Classify(err) {
	case store.Transient:
		return batcher.Transient
	case store.Ambiguous:
		return batcher.Ambiguous
	case store.Poison:
		return batcher.Poison
	default:
		return batcher.Fatal
	}
}
