package amqp

import (
	"errors"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// IsRefused says that the broker was there and did not let us in: the user, the
// password or the virtual host is wrong, and waiting does not help.
func IsRefused(err error) bool {
	var answer *amqp091.Error
	return errors.As(err, &answer) && (answer.Code == amqp091.AccessRefused || answer.Code == amqp091.NotAllowed)
}
