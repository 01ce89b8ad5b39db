// Verifies SNS messages with sns-validator, and checks that it refuses each message with a flipped bit. Prints JSON.
// Arguments: the folder that contains node_modules, the service's address, a file with a message in each line, the
// number of messages to change bit by bit, and a pattern for hosts ("": the validator's default).
const { readFileSync } = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const { createRequire } = require("node:module");

const [, , modules, endpoint, file, altered, pattern] = process.argv;
const Validator = createRequire(`${modules}/`)("sns-validator");

// Unlike in production, the certificate comes from the tested service by HTTP, at the path in the certificate's URL.
// Only a private DNS would lead that URL's host to the service.
const fetched = new Set();
https.get = (address, listener) => {
  const { pathname } = new URL(address);
  fetched.add(pathname);
  return http.get(new URL(pathname, endpoint), listener);
};

const validator = new Validator(pattern ? new RegExp(pattern) : undefined);
const refusal = (message) =>
  new Promise((resolve) => validator.validate({ ...message }, (error) => resolve(error ? error.message : null)));

// Flips each bit of a value in UTF-8. As in a JSON parser, invalid UTF-8 becomes U+FFFD.
function* flips(bytes) {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] ^= 1 << (bit & 7);
    yield changed;
  }
}

const SIGNED = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

function* alterations(message) {
  for (const name of SIGNED.filter((name) => name in message)) {
    for (const changed of flips(Buffer.from(message[name]))) yield { ...message, [name]: changed.toString() };
  }
  for (const changed of flips(Buffer.from(message.Signature, "base64"))) {
    yield { ...message, Signature: changed.toString("base64") };
  }
}

(async () => {
  const messages = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const seen = { valid: 0, refused: {}, alterations: 0, accepted: 0 };
  for (const message of messages) {
    const said = await refusal(message);
    if (said === null) seen.valid++;
    else seen.refused[said] = (seen.refused[said] ?? 0) + 1;
  }
  for (const message of messages.slice(0, Number(altered))) {
    for (const changed of alterations(message)) {
      seen.alterations++;
      if ((await refusal(changed)) === null) seen.accepted++;
    }
  }
  console.log(JSON.stringify({ ...seen, certificates: fetched.size }));
})();
