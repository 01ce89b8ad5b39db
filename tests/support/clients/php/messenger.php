<?php
// Runs Symfony Messenger with its SQS transport and its worker. Argument: the address. The transport creates the queues
// messenger and messenger.fifo. Prints the messages that the worker handled, and the number of messages before.

require 'Symfony/Component/Messenger/autoload.php';
require 'Symfony/Component/Messenger/Bridge/AmazonSqs/autoload.php';
require 'Symfony/Component/EventDispatcher/autoload.php';

use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\AmazonSqs\Transport\AmazonSqsFifoStamp;
use Symfony\Component\Messenger\Bridge\AmazonSqs\Transport\AmazonSqsTransportFactory;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Event\WorkerMessageHandledEvent;
use Symfony\Component\Messenger\Event\WorkerRunningEvent;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

final class Task
{
    public string $text;

    public function __construct(string $text)
    {
        $this->text = $text;
    }
}

$dsn = fn (string $queue) => str_replace('http://', 'sqs://x:x@', $argv[1])
    ."/$queue?region=us-east-1&sslmode=disable&wait_time=2&visibility_timeout=600";
$factory = new AmazonSqsTransportFactory();
$transports = [];
foreach (['messenger', 'messenger.fifo'] as $queue) {
    $transports[$queue] = $factory->createTransport($dsn($queue), [], new PhpSerializer());
}
foreach (['grüße', 'two', 'three'] as $text) {
    $transports['messenger']->send(new Envelope(new Task($text)));
}
$transports['messenger']->send(new Envelope(new Task('late'), [new DelayStamp(1000)]));
foreach (['a1', 'a2', 'a1'] as $text) {
    $transports['messenger.fifo']->send(new Envelope(new Task($text), [new AmazonSqsFifoStamp('a', $text)]));
}
$waiting = $transports['messenger.fifo']->getMessageCount();

$handled = [];
$bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([
    Task::class => [function (Task $task) use (&$handled) { $handled[] = $task->text; }],
]))]);
$events = new EventDispatcher();
$done = 0;
$events->addListener(WorkerMessageHandledEvent::class, function () use (&$done) { ++$done; });
$events->addListener(WorkerRunningEvent::class, function (WorkerRunningEvent $event) use (&$done) {
    if (6 === $done) {
        $event->getWorker()->stop();
    }
});
(new Worker($transports, $bus, $events))->run();
// When the process ends, it returns messages that it has received but not handled.
$transports['messenger']->send(new Envelope(new Task('left')));

$of = fn (bool $fifo) => array_values(array_filter($handled, fn ($text) => $fifo === ('a' === $text[0])));
$standard = $of(false);
sort($standard);
echo json_encode(['waiting' => $waiting, 'standard' => $standard, 'fifo' => $of(true)], JSON_THROW_ON_ERROR);
