// Handles the messages of a queue until SIGTERM or Ctrl-C. go run . http://127.0.0.1:9324/000000000000/orders
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const concurrency, visibility, maxPause = 8, 30, 900 // visibility and pause in seconds

var client = sqs.New(sqs.Options{
	Region:       "us-east-1",
	Credentials:  credentials.NewStaticCredentialsProvider("any", "any", ""),
	BaseEndpoint: aws.String(cmp.Or(os.Getenv("AWS_ENDPOINT_URL"), "http://127.0.0.1:9324")),
})
var ctx, queue = context.Background(), os.Args[1]

func handle(message types.Message) error {
	if strings.Contains(*message.Body, "null") {
		return fmt.Errorf("total is null")
	}
	return nil
}

// Makes a message visible after this time. Penstock stores the cause, and Amazon SQS ignores the header.
func changeVisibility(message types.Message, seconds int, cause error) error {
	_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &queue, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: int32(seconds),
	}, func(o *sqs.Options) {
		if cause != nil {
			header := url.PathEscape(fmt.Sprintf("%.1024s", cause))
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Penstock-Error", header))
		}
	})
	return err
}

func handleAndDelete(message types.Message) error {
	result, heartbeat := make(chan error), time.NewTicker(visibility*time.Second/3)
	go func() { result <- handle(message) }()
	for {
		select {
		case <-heartbeat.C:
			changeVisibility(message, visibility, nil)
		case cause := <-result:
			if cause != nil {
				log.Printf("message %s failed: %v", *message.MessageId, cause)
				attempts, _ := strconv.Atoi(message.Attributes["ApproximateReceiveCount"])
				first, _ := strconv.Atoi(cmp.Or(os.Getenv("FIRST_PAUSE_SECONDS"), "10"))
				return changeVisibility(message, min(first<<min(attempts-1, 16), maxPause), cause)
			}
			_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: message.ReceiptHandle})
			return err
		}
	}
}

// Handles one message after the other. A FIFO queue keeps the order of a group, of which one message is in flight.
func run(stopping context.Context) {
	for stopping.Err() == nil {
		received, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &queue, VisibilityTimeout: visibility, WaitTimeSeconds: 5, // A stop waits for this receive.
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"ApproximateReceiveCount"},
		})
		if err == nil && len(received.Messages) > 0 && stopping.Err() == nil {
			err = handleAndDelete(received.Messages[0])
		} else if err == nil && len(received.Messages) > 0 {
			err = changeVisibility(received.Messages[0], 0, nil)
		}
		if err != nil {
			log.Print(err) // The message returns after its visibility timeout.
			time.Sleep(time.Second)
		}
	}
}

func main() {
	stopping, _ := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	var running sync.WaitGroup
	for range concurrency {
		running.Go(func() { run(stopping) })
	}
	running.Wait()
}
