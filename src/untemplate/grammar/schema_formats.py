r"""Formats as regular expressions.

    FORMATS["uuid"]     # '^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$'

Each is anchored and means what RFC 3339, 3986, 5321, 1123, 4122, 6901 and ISO 8601 say. A format
that is not listed is an annotation and asks nothing. Those in `CHECKED` are known but not regular:
they are checked once the value is written. Where a rule is not regular or would be very large, the
expression is narrower: host names in punycode, and leap seconds outside UTC.
"""

from collections.abc import Mapping

__all__ = ["CHECKED", "FORMATS", "NARROWER"]

_YEAR = r"[0-9]{4}"
_LEAP = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    rf"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|{_LEAP}-02-29)"
)
_CLOCK = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
_OFFSET = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
# A leap second comes only at the end of a day in UTC.
_TIME = _CLOCK + rf"{_OFFSET}|23:59:60(?:\.[0-9]+)?(?:[Zz]|[+-]00:00))"

_ATEXT = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_ALNUM, _INNER = "[A-Za-z0-9]", "[A-Za-z0-9-]"
# Two hyphens as third and fourth character are kept for names in punycode, which is not regular.
_LABEL = (
    rf"{_ALNUM}(?:{_ALNUM}|{_INNER}(?:{_ALNUM}(?:{_INNER}{{0,59}}{_ALNUM})?"
    rf"|-{_ALNUM}(?:{_INNER}{{0,58}}{_ALNUM})?))?"
)
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H16 = r"[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_IPV4})"
_IPV6 = "(?:" + "|".join(
    (
        rf"(?:{_H16}:){{6}}{_LS32}",
        rf"::(?:{_H16}:){{5}}{_LS32}",
        rf"(?:{_H16})?::(?:{_H16}:){{4}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,1}}{_H16})?::(?:{_H16}:){{3}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,2}}{_H16})?::(?:{_H16}:){{2}}{_LS32}",
        rf"(?:(?:{_H16}:){{0,3}}{_H16})?::{_H16}:{_LS32}",
        rf"(?:(?:{_H16}:){{0,4}}{_H16})?::{_LS32}",
        rf"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        rf"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    )
) + ")"  # fmt: skip

_PCT = r"%[0-9A-Fa-f]{2}"
_UNRESERVED = r"A-Za-z0-9._~\-"
_SUB = r"!$&'()*+,;="
_PCHAR = rf"(?:[{_UNRESERVED}{_SUB}:@]|{_PCT})"
_AUTHORITY = (
    rf"(?:(?:[{_UNRESERVED}{_SUB}:]|{_PCT})*@)?"
    rf"(?:\[(?:{_IPV6}|v[0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB}:]+)\]|(?:[{_UNRESERVED}{_SUB}]|{_PCT})*)"
    r"(?::[0-9]*)?"
)
_PATH = rf"/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?"
_HIERARCHY = rf"(?://{_AUTHORITY}(?:/{_PCHAR}*)*|{_PATH}|{_PCHAR}+(?:/{_PCHAR}*)*|)"
_NO_SCHEME = rf"(?:(?:[{_UNRESERVED}{_SUB}@]|{_PCT})+(?:/{_PCHAR}*)*)"
_RELATIVE = rf"(?://{_AUTHORITY}(?:/{_PCHAR}*)*|{_PATH}|{_NO_SCHEME}|)"
_TAIL = rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
_URI = rf"[A-Za-z][A-Za-z0-9+.\-]*:{_HIERARCHY}{_TAIL}"
_POINTER = r"(?:/(?:[^~/]|~[01])*)*"

FORMATS: Mapping[str, str] = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "duration": (
        r"^P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
        r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?"
        r"|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))$"
    ),
    "email": (
        rf"^(?=[^@]{{1,64}}@|\")(?:{_ATEXT}+(?:\.{_ATEXT}+)*|{_QUOTED})"
        rf"@(?:{_HOSTNAME}|\[(?:{_IPV4}|IPv6:{_IPV6})\])$"
    ),
    "hostname": rf"^(?=.{{1,253}}$){_HOSTNAME}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^{_IPV6}$",
    "uri": f"^{_URI}$",
    "uri-reference": rf"^(?:{_URI}|{_RELATIVE}{_TAIL})$",
    "uuid": r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
    "json-pointer": f"^{_POINTER}$",
    "relative-json-pointer": rf"^(?:0|[1-9][0-9]*)(?:#|{_POINTER})$",
}
"""Name of a format to its expression."""

CHECKED = frozenset({"idn-email", "idn-hostname", "iri", "iri-reference", "regex", "uri-template"})
"""Formats that are not regular, or need tables that are not here."""

_PUNYCODE = "host names in punycode are not written"
_LEAP_SECONDS = "leap seconds are written in UTC only"
NARROWER: Mapping[str, str] = {
    "date-time": _LEAP_SECONDS,
    "email": _PUNYCODE,
    "hostname": _PUNYCODE,
    "time": _LEAP_SECONDS,
}
"""What valid strings of a format its expression leaves out."""
