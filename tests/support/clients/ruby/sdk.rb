# Runs version 1 of the SDK for Ruby, which uses Query and does not support FIFO queues. Arguments: the address, the
# queues' name.
require "aws-sdk-v1"
require "json"
require "uri"

address = URI(ARGV[0])
name = ARGV[1]
AWS.config(
  access_key_id: ENV.fetch("PENSTOCK_KEY", "x"), secret_access_key: ENV.fetch("PENSTOCK_SECRET", "x"), region: "us-east-1", use_ssl: false,
  sqs_endpoint: address.host, sqs_port: address.port, sns_endpoint: address.host, sns_port: address.port
)

# A module, because top-level methods would override the SDK's methods.
module Story
  BODY = "grüße, 世界 <&>".freeze
  SQS = AWS::SQS.new
  SNS = AWS::SNS.new

  module_function

  # Receives this many messages with several calls, because a receive may return only some of them.
  def received(queue, count)
    messages = []
    10.times do
      break if messages.length >= count
      messages.concat(queue.receive_message(limit: 10, wait_time_seconds: 20, attributes: [:all],
                                            message_attribute_names: ["All"]))
    end
    messages
  end

  def attributes
    {
      "Text" => { string_value: "tëxt", data_type: "String" },
      "Number" => { string_value: "-1.50", data_type: "Number" },
      "Bytes" => { binary_value: ["0080ff"].pack("H*"), data_type: "Binary" },
    }
  end

  def text(value)
    "#{value[:data_type]} #{value[:binary_value]&.unpack1("H*") || value[:string_value]}"
  end

  def standard(name)
    queue = SQS.queues.create(name, visibility_timeout: 600)
    poll = Thread.new { received(queue, 1) }
    queue.send_message("awaited")
    awaited = poll.value.first
    awaited.delete
    queue.send_message(BODY, message_attributes: attributes)
    failed = []
    begin
      queue.batch_send([{ message_body: "two" }, { message_body: "three" }, { message_body: "late", delay_seconds: 901 }])
    rescue AWS::SQS::Errors::BatchSendError => error
      failed = error.failures.map { |entry| entry.values_at(:message_body, :error_code, :sender_fault) }
    end
    messages = received(queue, 3).to_h { |message| [message.body, message] }
    values = messages[BODY].message_attributes.to_h { |key, value| [key, text(value)] }
    messages["two"].visibility_timeout = 0
    again = received(queue, 1).first
    messages[BODY].delete
    queue.batch_delete(again, messages["three"])
    queue.send_message("left", message_attributes: attributes)
    unknown = begin
      SQS.queues.named("#{name}-unknown")
    rescue AWS::SQS::Errors::NonExistentQueue => error
      error.code
    end
    {
      awaited: awaited.body, failed: failed, received: messages.keys.sort, attributes: values,
      again: [again.body, again.approximate_receive_count], unknown: unknown
    }
  end

  def topic(name)
    queue = SQS.queues.create("#{name}-topic")
    topic = SNS.topics.create(name)
    # This also writes the queue's policy, which lets the topic send.
    topic.subscribe(queue)
    topic.publish(BODY, subject: "of the topic")
    message = received(queue, 1).first
    message.delete
    notification = message.as_sns_message
    { body: notification.body, subject: JSON.parse(message.body)["Subject"], topic: notification.topic.name }
  end
end

puts JSON.generate(Story.standard(name).merge(topic: Story.topic(name)))
