<?php
// Runs the scenario in tests/support/clients/sdk_scenario.py with async-aws. Arguments: the address, the queues' name.

require 'AsyncAws/Sqs/autoload.php';
require 'AsyncAws/Sns/autoload.php';

use AsyncAws\Core\Exception\Http\HttpException;
use AsyncAws\Sns\SnsClient;
use AsyncAws\Sqs\SqsClient;

const BODY = 'grüße, 世界 <&>';
const VISIBILITY_SECONDS = '600';

[, $address, $name] = $argv;
$configuration = [
    'endpoint' => $address, 'region' => 'us-east-1',
    'accessKeyId' => getenv('PENSTOCK_KEY') ?: 'x', 'accessKeySecret' => getenv('PENSTOCK_SECRET') ?: 'x',
];
$sqs = new SqsClient($configuration);
$sns = new SnsClient($configuration);

$create = fn (string $queue, array $attributes = []) => $sqs->createQueue([
    'QueueName' => $queue, 'Attributes' => ['VisibilityTimeout' => VISIBILITY_SECONDS] + $attributes,
])->getQueueUrl();
$send = fn (string $url, string $body, array $more = []) => $sqs->sendMessage(
    ['QueueUrl' => $url, 'MessageBody' => $body] + $more
);
$ask = fn (string $url) => $sqs->receiveMessage([
    'QueueUrl' => $url, 'MaxNumberOfMessages' => 10, 'WaitTimeSeconds' => 20,
    'AttributeNames' => ['All'], 'MessageAttributeNames' => ['All'],
]);
// Receives this many messages with several calls, because a receive may return only some of them.
$receive = function (string $url, int $count) use ($ask): array {
    $messages = [];
    for ($call = 0; $call < 10 && count($messages) < $count; ++$call) {
        array_push($messages, ...$ask($url)->getMessages());
    }

    return $messages;
};
$deleteAll = fn (string $url, array $messages) => count($sqs->deleteMessageBatch([
    'QueueUrl' => $url,
    'Entries' => array_map(
        fn ($number, $message) => ['Id' => (string) $number, 'ReceiptHandle' => $message->getReceiptHandle()],
        array_keys($messages), $messages,
    ),
])->getSuccessful());
$group = fn ($message) => $message->getAttributes()['MessageGroupId'];

function standard(string $name): array
{
    global $sqs, $create, $send, $ask, $receive, $deleteAll;
    $url = $create($name);
    $attributes = ['MessageAttributes' => [
        'Text' => ['DataType' => 'String', 'StringValue' => 'tëxt'],
        'Number' => ['DataType' => 'Number', 'StringValue' => '-1.50'],
        'Bytes' => ['DataType' => 'Binary', 'BinaryValue' => hex2bin('0080ff')],
    ]];
    // The first use of a result waits for it, so the long poll continues during the send.
    $poll = $ask($url);
    $send($url, 'awaited')->resolve();
    [$awaited] = $poll->getMessages() ?: $receive($url, 1);
    $sqs->deleteMessage(['QueueUrl' => $url, 'ReceiptHandle' => $awaited->getReceiptHandle()])->resolve();

    $send($url, BODY, $attributes)->resolve();
    $entries = [];
    foreach (['two' => 0, 'three' => 0, 'late' => 901] as $body => $delay) {
        $entries[] = ['Id' => $body, 'MessageBody' => $body, 'DelaySeconds' => $delay];
    }
    $failed = [];
    foreach ($sqs->sendMessageBatch(['QueueUrl' => $url, 'Entries' => $entries])->getFailed() as $entry) {
        $failed[] = [$entry->getId(), $entry->getCode(), $entry->getSenderFault()];
    }
    $messages = [];
    foreach ($receive($url, 3) as $message) {
        $messages[$message->getBody()] = $message;
    }
    ksort($messages);
    $values = [];
    foreach ($messages[BODY]->getMessageAttributes() as $key => $value) {
        $values[$key] = $value->getDataType().' '.($value->getStringValue() ?? bin2hex($value->getBinaryValue()));
    }
    $sqs->changeMessageVisibility([
        'QueueUrl' => $url, 'ReceiptHandle' => $messages['two']->getReceiptHandle(), 'VisibilityTimeout' => 0,
    ])->resolve();
    [$again] = $receive($url, 1);
    $sqs->deleteMessage(['QueueUrl' => $url, 'ReceiptHandle' => $messages[BODY]->getReceiptHandle()])->resolve();
    $deleted = $deleteAll($url, [$again, $messages['three']]);
    $send($url, 'left', $attributes)->resolve();
    try {
        $sqs->receiveMessage(['QueueUrl' => "$url-unknown"])->getMessages();
        $unknown = 'nothing';
    } catch (HttpException $error) {
        $unknown = $error->getAwsCode();
    }

    return [
        'awaited' => $awaited->getBody(),
        'failed' => $failed,
        'received' => array_keys($messages),
        'attributes' => $values,
        'again' => [$again->getBody(), $again->getAttributes()['ApproximateReceiveCount']],
        'deleted' => $deleted,
        'unknown' => $unknown,
    ];
}

function fifo(string $name): array
{
    global $sqs, $create, $send, $receive, $deleteAll, $group;
    $url = $create($name, ['FifoQueue' => 'true']);
    $sendTo = fn (string $group, string $body) => $send(
        $url, $body, ['MessageGroupId' => $group, 'MessageDeduplicationId' => $body]
    );
    $sent = [];
    foreach ([['a', 'a1'], ['a', 'a2'], ['b', 'b1'], ['a', 'a1']] as $pair) {
        $sent[] = $result = $sendTo(...$pair);
        $result->resolve();
    }
    $messages = $receive($url, 3);
    $groups = [];
    foreach ($messages as $message) {
        $groups[$group($message)][] = $message->getBody();
    }
    ksort($groups);
    $sendTo('a', 'a3')->resolve();
    $blocked = count($sqs->receiveMessage(['QueueUrl' => $url])->getMessages());
    $ofA = array_values(array_filter($messages, fn ($message) => 'a' === $group($message)));
    $sqs->changeMessageVisibilityBatch(['QueueUrl' => $url, 'Entries' => array_map(fn ($message) => [
        'Id' => $message->getBody(), 'ReceiptHandle' => $message->getReceiptHandle(), 'VisibilityTimeout' => 0,
    ], $ofA)])->resolve();
    $again = $receive($url, 3);
    $done = array_filter($messages, fn ($message) => 'b' === $group($message));
    array_push($done, ...array_filter($again, fn ($message) => 'a3' !== $message->getBody()));

    return [
        'duplicate' => $sent[3]->getMessageId() === $sent[0]->getMessageId(),
        'rising' => strcmp($sent[0]->getSequenceNumber(), $sent[1]->getSequenceNumber()) < 0,
        'groups' => $groups,
        'blocked' => $blocked,
        'again' => array_map(fn ($message) => $message->getBody(), $again),
        'deleted' => $deleteAll($url, array_values($done)),
    ];
}

function topic(string $name): array
{
    global $sqs, $sns, $create, $receive, $deleteAll;
    $url = $create("$name-topic");
    $attributes = $sqs->getQueueAttributes(['QueueUrl' => $url, 'AttributeNames' => ['QueueArn']])->getAttributes();
    $topic = $sns->createTopic(['Name' => $name])->getTopicArn();
    $sns->subscribe([
        'TopicArn' => $topic, 'Protocol' => 'sqs', 'Endpoint' => $attributes['QueueArn'],
        'Attributes' => ['RawMessageDelivery' => 'true', 'FilterPolicy' => '{"kind":["large"]}'],
    ])->resolve();
    $kind = fn (string $value) => ['MessageAttributes' => ['kind' => ['DataType' => 'String', 'StringValue' => $value]]];
    $sns->publish(['TopicArn' => $topic, 'Message' => 'small'] + $kind('small'))->resolve();
    $sns->publishBatch(['TopicArn' => $topic, 'PublishBatchRequestEntries' => [
        ['Id' => '0', 'Message' => BODY] + $kind('large'),
        ['Id' => '1', 'Message' => 'other'] + $kind('small'),
    ]])->resolve();
    $messages = $receive($url, 1);
    $deleteAll($url, $messages);

    return array_map(
        fn ($message) => [$message->getBody(), $message->getMessageAttributes()['kind']->getStringValue()], $messages
    );
}

echo json_encode(standard($name) + ['fifo' => fifo("$name.fifo"), 'topic' => topic($name)], JSON_THROW_ON_ERROR);
