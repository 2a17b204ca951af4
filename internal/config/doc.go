// Package config holds the settings of the programs: each has one struct whose
// fields say in their tags what the setting means, its flag, its environment
// variable, its default and its bounds. A flag wins over the environment, the
// environment over the default. Whatever is wrong is reported at once, and no
// password is ever printed.
package config
