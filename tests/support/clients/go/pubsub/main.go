// Publishes and receives with gocloud.dev/pubsub by SQS, and by SNS with a subscribed queue. Prints a JSON line.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"
)

const messages = 25

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exchange sends and receives messages. It rejects the first message once and receives it again.
func exchange(ctx context.Context, topic *pubsub.Topic, subscription *pubsub.Subscription) map[string]any {
	for n := range messages {
		check(topic.Send(ctx, &pubsub.Message{
			Body:     []byte(fmt.Sprintf("grüße \xff %d", n)),
			Metadata: map[string]string{"number": fmt.Sprint(n), "a/ü": "x y"},
		}))
	}
	bodies, metadata, returned := []string{}, map[string]string{}, false
	for len(bodies) < messages {
		message, err := subscription.Receive(ctx)
		check(err)
		if !returned && message.Nackable() {
			returned = true
			message.Nack()
			continue
		}
		bodies = append(bodies, string(message.Body))
		metadata = message.Metadata
		message.Ack()
	}
	sort.Strings(bodies)
	check(topic.Shutdown(ctx))
	check(subscription.Shutdown(ctx))
	return map[string]any{"first": []byte(bodies[0]), "messages": len(bodies), "text": metadata["a/ü"], "returned": returned}
}

func main() {
	address, queueURL, subscribedURL, topicARN := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	configuration := aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(address),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "secret", ""),
	}
	queues, topics := sqs.NewFromConfig(configuration), sns.NewFromConfig(configuration)
	options := &awssnssqs.SubscriptionOptions{}
	line, err := json.Marshal(map[string]any{
		"sqs": exchange(ctx, awssnssqs.OpenSQSTopic(ctx, queues, queueURL, nil),
			awssnssqs.OpenSubscription(ctx, queues, queueURL, options)),
		"sns": exchange(ctx, awssnssqs.OpenSNSTopic(ctx, topics, topicARN, nil),
			awssnssqs.OpenSubscription(ctx, queues, subscribedURL, options)),
	})
	check(err)
	fmt.Println(string(line))
}
