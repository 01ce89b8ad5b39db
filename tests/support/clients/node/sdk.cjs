// Runs the scenario in scenario.cjs with one of the SDKs, and prints the results as JSON.
// Arguments: the folder that contains node_modules, the package, the service's address.
const { createRequire } = require("node:module");
const { scenario } = require("./scenario.cjs");

const [, , modules, name, endpoint] = process.argv;
const sdk = createRequire(`${modules}/`)(name);
const options = { endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" } };

// Version 3 has commands, and classes for most errors, which applications check with `instanceof`.
function version3() {
  const sqs = new sdk.SQSClient(options);
  const errors = Object.keys(sdk).filter((key) => sdk[key].prototype instanceof sdk.SQSServiceException);
  return {
    call: (action, input) => sqs.send(new sdk[`${action}Command`](input)),
    kind: (error) => errors.find((key) => error instanceof sdk[key]) ?? `without a class: ${error.name}`,
    checksDigests: sqs.config.md5 !== false,
    end: () => sqs.destroy(),
  };
}

// Version 2 has methods, and one error class with a code.
function version2() {
  const sqs = new sdk.SQS(options);
  return {
    call: (action, input) => sqs[action[0].toLowerCase() + action.slice(1)](input).promise(),
    kind: (error) => error.code,
    checksDigests: sqs.config.computeChecksums,
    end: () => {},
  };
}

(async () => {
  const client = sdk.SQSClient ? version3() : version2();
  const facts = await scenario(client, name.replace(/\W/g, "-"));
  client.end();
  console.log(JSON.stringify({ checksDigests: client.checksDigests, ...facts }));
})();
