package amqp

// Definitions are users and rights in the form that the broker imports
// (rabbitmqctl import_definitions).
type Definitions struct {
	Users            []UserDefinition            `json:"users,omitempty"`
	Permissions      []PermissionDefinition      `json:"permissions,omitempty"`
	TopicPermissions []TopicPermissionDefinition `json:"topic_permissions,omitempty"`
}

// UserDefinition is a user of the broker.
type UserDefinition struct {
	Name string `json:"name"`
	// PasswordHash is empty: nobody can log in until a password is set.
	PasswordHash string   `json:"password_hash"`
	Tags         []string `json:"tags"`
}

// PermissionDefinition is what a user may do in a virtual host. Each right is a
// regular expression for the names of exchanges and queues.
type PermissionDefinition struct {
	User      string `json:"user"`
	VHost     string `json:"vhost"`
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// TopicPermissionDefinition narrows the routing keys of a topic exchange.
type TopicPermissionDefinition struct {
	User     string `json:"user"`
	VHost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Write    string `json:"write"`
	Read     string `json:"read"`
}

// UserDefinitions creates the users of all roles, without passwords. Importing
// it again takes away passwords that were set in between.
func UserDefinitions() Definitions {
	var d Definitions
	for _, role := range Roles() {
		d.Users = append(d.Users, UserDefinition{Name: role.User, Tags: append([]string{}, role.Tags...)})
	}
	return d
}

// PermissionDefinitions gives the users of all roles their rights in a virtual
// host. The users have to exist; importing it again changes nothing.
func PermissionDefinitions(vhost string) Definitions {
	var d Definitions
	for _, role := range Roles() {
		d.Permissions = append(d.Permissions, PermissionDefinition{
			User: role.User, VHost: vhost, Configure: anyOf(role.Rights.Configure),
			Write: anyOf(role.Rights.Write), Read: anyOf(role.Rights.Read),
		})
		for _, topic := range role.Topics {
			d.TopicPermissions = append(d.TopicPermissions, TopicPermissionDefinition{
				User: role.User, VHost: vhost, Exchange: topic.Exchange, Write: topic.subjects(), Read: nothing,
			})
		}
	}
	return d
}
