// Package tidy holds the project to its own rules: which package may import which, what the pure core must not touch,
// how long a file or a function may be, which documents and targets have to agree. It consists of tests only.
//
// Each rule has a reason, which is printed with every finding, and two small file trees: one that it must accept and
// one that it must object to, so that no rule can rot into one that never fails.
package tidy
