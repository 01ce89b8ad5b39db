// Events decodes an event from standard input like a handler in Go, and prints the handler's values.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
)

func main() {
	seen := map[string]any{}
	if os.Args[1] == "sqs" {
		var event events.SQSEvent
		read(&event)
		message := event.Records[0]
		number := message.MessageAttributes["n"]
		seen["id"], seen["body"] = message.MessageId, message.Body
		seen["receives"] = message.Attributes["ApproximateReceiveCount"]
		seen["number"] = fmt.Sprintf("%s %s", *number.StringValue, number.DataType)
		seen["bytes"] = len(message.MessageAttributes["b"].BinaryValue)
		seen["source"] = fmt.Sprintf("%s %s %s", message.EventSource, message.EventSourceARN, message.AWSRegion)
	} else {
		var event events.SNSEvent
		read(&event)
		record := event.Records[0]
		message := record.SNS
		number := message.MessageAttributes["n"].(map[string]any)
		seen["id"], seen["body"], seen["number"] = message.MessageID, message.Message, number["Value"]
		seen["subject"], seen["year"] = message.Subject, message.Timestamp.Year()
		seen["urls"] = message.SigningCertURL != "" && message.UnsubscribeURL != ""
		seen["source"] = fmt.Sprintf("%s %s %s", record.EventSource, record.EventVersion, record.EventSubscriptionArn)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}

func read(event any) {
	if err := json.NewDecoder(os.Stdin).Decode(event); err != nil {
		panic(err)
	}
}
