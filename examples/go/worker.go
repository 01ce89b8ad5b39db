// Sends three orders, and handles them until the queue is empty. go run .
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	ctx := context.Background()
	client := sqs.New(sqs.Options{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("any", "any", ""),
		BaseEndpoint: aws.String(cmp.Or(os.Getenv("AWS_ENDPOINT_URL"), "http://127.0.0.1:9324")),
	})
	queue, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("example-go")})
	check(err)
	for order := 1; order <= 3; order++ {
		_, err := client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl:    queue.QueueUrl,
			MessageBody: aws.String(fmt.Sprintf(`{"order":%d}`, order)),
		})
		check(err)
	}
	for {
		// The call returns as soon as a message arrives, and after two seconds without one. A worker in production
		// waits 20.
		received, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 2,
		})
		check(err)
		if len(received.Messages) == 0 {
			return
		}
		for _, message := range received.Messages {
			fmt.Println("handled", *message.Body)
			_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{
				QueueUrl: queue.QueueUrl, ReceiptHandle: message.ReceiptHandle,
			})
			check(err)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
