"""Lists URLs that a malicious subscriber may use to reach internal systems, and the addresses that a worker may connect
to.

Sources: IANA's registries of special-purpose addresses (RFC 6890), IPv6 address space and multicast addresses; RFC 4291
(mapped and compatible addresses), RFC 6052 and 8215 (NAT64), RFC 3056 (6to4), RFC 4380 (Teredo), RFC 5214 (ISATAP);
inet_aton(3) for numbers; RFC 3986 for a URL's host; RFC 5891 and UTS #46 for names with similar characters.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Network

# The first and last address of each registered block that is multicast or not globally reachable.
BLOCKS_4 = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
BLOCKS_6 = (
    "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16",
    "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "4000::/3", "8000::/3", "c000::/3",
)  # fmt: skip
# Metadata and other services of cloud providers. Most of these services give the machine's credentials to any local
# program.
CLOUDS = (
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.123", "169.254.169.253", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::253", "fd20:ce::254",
)  # fmt: skip
METADATA, LOOPBACK, PRIVATE = "169.254.169.254", "127.0.0.1", "10.0.0.1"
TARGETS = (METADATA, LOOPBACK, PRIVATE, "192.168.1.1")
# A public address. No test connects to the public address.
PUBLIC = "8.8.8.8"


def ends(blocks: tuple[str, ...]) -> Iterator[str]:
    for block in blocks:
        network = IPv6Network(block) if ":" in block else IPv4Network(block)
        yield from dict.fromkeys((str(network[0]), str(network[-1])))


def number_forms(text: str) -> list[str]:
    """Returns the spellings of an IPv4 address that inet_aton accepts."""
    value = int(IPv4Address(text))
    a, b, c, d = IPv4Address(text).packed
    return [
        str(value), hex(value), f"0{value:o}", f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a}.{(b << 16) + (c << 8) + d}", f"{a}.{b}.{(c << 8) + d}", f"0{a:03o}.{b}.{c}.{d}", f"{text}.",
        f"00000{a}.{b}.{c}.{d}", f"0X{value:X}", f"{value + 2**32}", f"0x{a:x}.{b}.0{c:o}.{d}", f"{a}.{b}.{c}.0x{d:x}",
    ]  # fmt: skip


def embedded(text: str) -> list[str]:
    """Returns IPv6 addresses that lead to the given IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo,
    ISATAP.
    """
    a, b, c, d = IPv4Address(text).packed
    high, low = f"{a:02x}{b:02x}", f"{c:02x}{d:02x}"
    masked = f"{(a << 8 | b) ^ 0xFFFF:x}:{(c << 8 | d) ^ 0xFFFF:x}"
    return [
        f"::ffff:{text}", f"::ffff:{high}:{low}", f"0:0:0:0:0:ffff:{high}:{low}", f"::{high}:{low}",
        f"::ffff:0:{high}:{low}", f"64:ff9b::{text}", f"64:ff9b::{high}:{low}", f"64:ff9b:1::{high}:{low}",
        f"2002:{high}:{low}::1", f"2001:0:{high}:{low}::", f"2001::{masked}", f"2600::5efe:{text}",
        f"2600::200:5efe:{high}:{low}", f"2a00:1450:4001:82b:0:5efe:{high}:{low}", f"fe80::5efe:{text}",
    ]  # fmt: skip


NAMES = (
    "localhost", "localhost.", "LOCALHOST", "a.localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
    "metadata.google.internal", "metadata", "instance-data", "kubernetes.default.svc", "host.docker.internal",
    "two.example", "xn--e1afmkfd.example", "127.0.0.1.nip.example", "169.254.169.254.sslip.example",
    "a" * 60 + ".example",
)  # fmt: skip
# Texts that are not plain http(s) URLs: with user information, a non-ASCII host or a wrong syntax. Some of the texts
# have a public address as their host.
ODD = (
    "http://user@127.0.0.1/", "http://user:password@127.0.0.1/", "http://8.8.8.8@127.0.0.1/",
    "http://127.0.0.1@8.8.8.8/", "http://8.8.8.8#@127.0.0.1/", "http://8.8.8.8?@127.0.0.1/",
    "http://8.8.8.8\\@127.0.0.1/", "http://127.0.0.1\\@8.8.8.8/", "http://127.0.0.1:80\\@8.8.8.8/",
    "http://8.8.8.8:80@127.0.0.1:80/", "http://8.8.8.8%40127.0.0.1/", "http://8.8.8.8/@127.0.0.1/",
    "http://8.8.8.8;@127.0.0.1/", "http://8.8.8.8&@127.0.0.1/", "http://[8.8.8.8]@127.0.0.1/", "http://@127.0.0.1/",
    "http://:@127.0.0.1/", "http://a@b@127.0.0.1/", "http://8.8.8.8:80#@127.0.0.1:80/", "http://8.8.8.8/#127.0.0.1",
    "http:///127.0.0.1/", "http:127.0.0.1/", "http:/127.0.0.1/", "http:\\\\127.0.0.1\\", "http:////127.0.0.1/",
    "http://\\127.0.0.1/", "//127.0.0.1/", "127.0.0.1", "", "http://", "http://:80/", "http://./", "http://../",
    "http://a..b/", "http://127。0。0。1/", "http://127.0.0。1/", "http://127\uff0e0\uff0e0\uff0e1/", "http://127｡0｡0｡1/",
    "http://①②⑦.⓪.⓪.①/", "http://\uff11\uff12\uff17.0.0.1/", "http://١٢٧.0.0.1/", "http://ⓛocalhost/",
    "http://loc\u00adalhost/", "http://localhos\u1d57/", "http://local\u200dhost/",
    "http://\uff2c\uff2f\uff23\uff21\uff2c\uff28\uff2f\uff33\uff34/", "http://metadata。google。internal/",
    "http://%31%32%37.0.0.1/", "http://127%2e0%2e0%2e1/", "http://%6c%6fcalhost/", "http://127.0.0.1%00.example/",
    "http://127.0.0.1%2f.example/", "http://127.0.0.1%23.example/", "http://127.0.0.1\x00.example/",
    "http://127.0.0.1\t/", "http://127.0.0.1 /", " http://127.0.0.1/", "http://127.0.0.1\r\nX-Other: 1/",
    "http://127.0.0.1\n/", "ht\ntp://127.0.0.1/", "http://127.0\t.0.1/", "http://[::1/", "http://::1/",
    "http://[::1]]/", "http://[[::1]]/", "http://[::1%25lo]/", "http://[::1%lo]/", "http://[fe80::1%25eth0]/",
    "http://[v1.a]/", "http://[127.0.0.1]/", "http://[::ffff:127.1]/", "http://[0:0:0:0:0:0:0:0:1]/", "http://[::1]x/",
    "http://x[::1]/", "http://[]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::0001]/", "http://[0000::1]/",
    "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:99999/", "http://127.0.0.1:-1/",
    "http://127.0.0.1:8o/", "http://127.0.0.1:80:80/", "http://127.0.0.1:\u0661/", "http://127.0.0.1:+80/",
    "http://127.0.0.1:080/", "http://127.0.0.1:/", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/",
    "unix:/var/run/docker.sock", "data:text/plain,a", "javascript:0", "dict://127.0.0.1:11211/", "ldap://127.0.0.1/",
    "tftp://127.0.0.1/", "ws://127.0.0.1/", "jar:http://127.0.0.1!/", "httpx://127.0.0.1/", "http+unix://%2Frun/",
    "url:http://127.0.0.1/", "http;//127.0.0.1/", "HTTP://127.0.0.1/", "hTTps://127.0.0.1/", "http://127.0.0.1./",
    "http://127.0.0.1../", "http://127.0.0.1:80/", "http://127.0.0.256/", "http://1.2.3.4.5/", "http://127.1/",
    "http://127.0.1/", "http://0/", "http://0x/", "http://0x7f.example.0x1/", "http://1e3/", "http://..127.0.0.1/",
    "http://-127.0.0.1/", "http://127.0.0.1-/", "http://127.0.0.01/", "http://127.000.000.001/",
    "http://127.0.0.1/" + "a" * 2100, "http://[::ffff:8.8.8.8]/", "http://[64:ff9b::808:808]/",
    "http://[2002:808:808::1]/",
)  # fmt: skip


def forbidden() -> list[str]:
    return list(dict.fromkeys((
        *(f"http://{address}/" for address in ends(BLOCKS_4)),
        *(f"https://[{address}]:8443/x" for address in ends(BLOCKS_6)),
        *(f"http://[{address}]/" if ":" in address else f"http://{address}/" for address in CLOUDS),
        *(f"http://{form}/" for text in TARGETS for form in number_forms(text)),
        *(f"http://[{form}]/" for text in TARGETS for form in embedded(text)),
        *(f"http://{name}/" for name in NAMES),
        *ODD,
    )))  # fmt: skip


# The neighbours of the blocks, and addresses that the registries list as globally reachable.
ALLOWED_4 = (
    "1.0.0.0", "1.1.1.1", PUBLIC, "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
    "192.0.3.0", "192.31.196.1", "192.52.193.1", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
    "192.175.48.1", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
    "223.255.255.255", "168.63.129.15", "168.63.129.17",
)  # fmt: skip
ALLOWED_6 = (
    "2000::1", "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700::1111", "2620:4f:8000::1",
    "2a00:1450::1", "3ffe::1", "2600::5efe:8.8.8.8", "2600::200:5efe:808:808", "2600::5efe:0:1:7f00:1",
    "2600::5eff:7f00:1", "2600::300:5efe:7f00:1",
)  # fmt: skip
