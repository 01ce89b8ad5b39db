<?php
// Sends three orders, and handles them until the queue is empty. composer install && php worker.php

// Composer's packages, or else those of Debian (php-async-aws-sqs).
$composer = __DIR__ . '/vendor/autoload.php';
require is_file($composer) ? $composer : 'AsyncAws/Sqs/autoload.php';

use AsyncAws\Sqs\SqsClient;

$sqs = new SqsClient([
    'endpoint' => getenv('AWS_ENDPOINT_URL') ?: 'http://127.0.0.1:9324',
    'region' => 'us-east-1', 'accessKeyId' => 'any', 'accessKeySecret' => 'any',
]);
$url = $sqs->createQueue(['QueueName' => 'example-php'])->getQueueUrl();
foreach ([1, 2, 3] as $order) {
    $sqs->sendMessage(['QueueUrl' => $url, 'MessageBody' => json_encode(['order' => $order])])->resolve();
}
do {
    // The call returns as soon as a message arrives, and after two seconds without one. A worker in production waits 20.
    $messages = $sqs->receiveMessage([
        'QueueUrl' => $url, 'MaxNumberOfMessages' => 10, 'WaitTimeSeconds' => 2,
    ])->getMessages();
    foreach ($messages as $message) {
        echo 'handled ', $message->getBody(), "\n";
        $sqs->deleteMessage(['QueueUrl' => $url, 'ReceiptHandle' => $message->getReceiptHandle()])->resolve();
    }
} while ($messages);
