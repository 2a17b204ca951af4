package console

import (
	"io"
	"strings"

	"couponlease/internal/amqp"
)

// Permissions are the broker's users, or what they may do.
type Permissions struct{ amqp.Definitions }

// WriteText prints one right a line. As JSON they can be imported.
func (p Permissions) WriteText(w io.Writer) error {
	purposes := map[string]string{}
	for _, role := range amqp.Roles() {
		purposes[role.User] = role.Purpose
	}
	rows := [][]string{{"USER", "RIGHT", "ON"}}
	add := func(user, right, expression string) {
		if expression != "^$" {
			rows = append(rows, []string{user, right, readable.Replace(expression)})
		}
	}
	for _, user := range p.Users {
		rows = append(rows, []string{user.Name, "exist", purposes[user.Name]})
	}
	for _, right := range p.Permissions {
		add(right.User, "be", purposes[right.User])
		add(right.User, "configure", right.Configure)
		add(right.User, "write", right.Write)
		add(right.User, "read", right.Read)
		for _, topic := range p.TopicPermissions {
			if topic.User == right.User {
				add(right.User, "publish", topic.Write+"* to "+topic.Exchange)
			}
		}
	}
	out := lines{w: w}
	out.table(rows)
	return out.err
}

// readable takes out of a regular expression what only machines need.
var readable = strings.NewReplacer("^(", "", ")$", "", "|", " ", `)\.`, ".", `\d`, "?", `\`, "", ".*", "*")
