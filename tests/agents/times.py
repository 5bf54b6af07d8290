"""When a limit ends, by the words in which it is said, at 08:40 UTC on Monday, November 30, 2026. Written by hand."""

from __future__ import annotations

from datetime import UTC, datetime

NOW = datetime(2026, 11, 30, 8, 40, tzinfo=UTC).timestamp()

# How long it lasts, in seconds, as it is said in amounts.
AMOUNTS: dict[str, float] = {
    "250 milliseconds": 0.25,
    "1 millisecond": 0.001,
    "250ms": 0.25,
    "30 seconds": 30,
    "1 second": 1,
    "30 secs": 30,
    "1 sec": 1,
    "30s": 30,
    "7.25s": 7.25,
    "45 minutes": 2700,
    "1 minute": 60,
    "45 mins": 2700,
    "1 min": 60,
    "45m": 2700,
    "5 hours": 18000,
    "1 hour": 3600,
    "5 hrs": 18000,
    "1 hr": 3600,
    "5h": 18000,
    "3 days": 259200,
    "1 day": 86400,
    "3d": 259200,
    "399 days": 34473600,
    "1m30s": 90,
    "5h 12m": 18720,
    "5 days 3 hours 20 minutes": 444000,
    "5 hours, 12 minutes": 18720,
    "5 hours and 12 minutes": 18720,
    "5 hours, 12 minutes, and 3 seconds": 18723,
}
BEFORE_AMOUNTS = (
    *("Try again in", "Please try again after", "Retry in", "Retry after", "Available in"),
    *("Available again in", "Resets in", "It will be reset in", "Resetting in", "You will regain access in"),
)
# Seconds alone, and moments by the Unix clock.
NUMBERS: dict[str, float] = {
    "retry-after: 30": 30,
    "retry_after=30": 30,
    "Retry after 30": 30,
    "retry-after:30": 30,
    '{"retry_after":30}': 30,
    "{'retry-after': 30}": 30,
    "limit reached|1796028060": 60,
    "limit reached|1796028060000": 60,
    '{"resets_at":1796028060}': 60,
    '{"resetsAt": 1796028060}': 60,
    "{'reset': 1796028060}": 60,
    "reset_at=1796028060": 60,
    "resets at 1796028060": 60,
    "reset 1796028060": 60,
    "limited until 1796028060": 60,
}
# Days and clocks, in UTC where no zone is said: the day of November or, from 31 on, of December; hour, minute.
CLOCKS: dict[str, tuple[int, int, int]] = {
    "regain access on 2026-12-01": (31, 0, 0),
    "regain access on 2026-12-01T10:05Z": (31, 10, 5),
    "regain access on 2026-12-01T10:05:30Z": (31, 10, 5),
    "regain access on 2026-12-01T10:05:30.123Z": (31, 10, 5),
    "regain access on 2026-12-01 at 10:05 UTC": (31, 10, 5),
    "regain access on 2026-12-01 10:05": (31, 10, 5),
    "regain access on 2026-12-01T10:05+01:00": (31, 9, 5),
    "regain access on 2026-12-01 at 10:05 -0130": (31, 11, 35),
    "regain access on 2026-12-01 UTC": (31, 0, 0),
    "resets_at: '2026-12-01T10:05Z'": (31, 10, 5),
    '{"reset": "2026-12-01T10:05Z"}': (31, 10, 5),
    "try again after 2026-12-01 10:05": (31, 10, 5),
    "limited until 2026-12-01": (31, 0, 0),
    "usage limit for gpt-5-2025-08-07. Try again at Dec 2nd, 2026 3:05 PM": (32, 15, 5),
    "usage limit for gpt-6-2026-12-07, resets 3pm (UTC)": (30, 15, 0),
    "try again after 2025-08-07, resets 3pm": (30, 15, 0),
    "resets 3pm": (30, 15, 0),
    "resets 3 PM": (30, 15, 0),
    "resets 3p.m.": (30, 15, 0),
    "reset at 3:05pm": (30, 15, 5),
    "resets at 11:05 am": (30, 11, 5),
    "resets 12pm": (30, 12, 0),
    "resets 12am": (31, 0, 0),
    "resets at 15:07": (30, 15, 7),
    "resets at 9:07": (30, 9, 7),
    "resets at 19:07": (30, 19, 7),
    "resets at 23:59": (30, 23, 59),
    "resets at 00:15": (31, 0, 15),
    "resets at 08:00": (31, 8, 0),
    "try again at 3pm": (30, 15, 0),
    "available again at 3pm": (30, 15, 0),
    "regain access at 3pm": (30, 15, 0),
    "resets 3pm (Europe/Berlin)": (30, 14, 0),
    "resets 3pm(Europe/Berlin)": (30, 14, 0),
    "resets 3 p.m. (Europe/Berlin)": (30, 14, 0),
    "resets 3pm (America/Argentina/Buenos_Aires)": (30, 18, 0),
    "resets 3pm (Etc/GMT+3)": (30, 18, 0),
    "resets 3pm (Etc/GMT-4)": (30, 11, 0),
    "resets 3pm (EST)": (30, 20, 0),
    "resets 3pm (UTC)": (30, 15, 0),
    "resets 3pm (Nowhere/City)": (30, 15, 0),
    "resets Dec 4, 9am": (34, 9, 0),
    "resets Dec 4 at 9am": (34, 9, 0),
    "resets Dec 4 9am": (34, 9, 0),
    "resets on Dec. 4, 9:30": (34, 9, 30),
    "resets December 14, 9am": (44, 9, 0),
    "try again at Dec 1st, 2026 3:04 PM": (31, 15, 4),
    "try again at Dec 2nd, 2026, 3:04 PM": (32, 15, 4),
    "try again at Dec 3rd 2026 3:04 PM": (33, 15, 4),
    "try again at Dec 4th, 3:04 PM": (34, 15, 4),
    "resets on Dec 4": (34, 0, 0),
    "resets Dec 4 (Europe/Berlin)": (33, 23, 0),
    "resets Nov 30, 8:35am": (30, 8, 35),
    "resets 8:35am": (30, 8, 35),
    "resets 8:31am": (30, 8, 31),
    "resets 8:30am": (31, 8, 30),
    "resets Nov 29, 9am": (29, 9, 0),
    "resets Nov 29, 8:40am": (29, 8, 40),
    "resets Dec 31, 9am": (61, 9, 0),
}
# A date without a year is the next one of its name.
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
# What is no time, or can't be when a limit ends.
NO_TIMES = """
    Nothing is said
    port 1796028060
    limit reached|1000000000
    limit reached|17960280601
    limit reached|179602806012345
    until further notice
    retry-after: 30x
    retry-after: soon
    try again in 30 sockets
    try again in 401 days
    try again in a while
    try again in hours
    12026-12-01
    regain access on 12026-12-01
    rate limit exceeded, request abc at 2026-11-30T22:40:10Z
    usage limit for gpt-6-2026-12-07
    regain access on 2026-13-01
    regain access on 2026-11-29T08:39Z
    resets pm
    resets 13pm
    resets 0am
    resets 3pmm
    resets at 24:00
    resets at 15:071
    resets at 15:60
    resets Feb 31, 9am
    resets Nov 29, 2026, 8:39am
    resets Dec 6, 2028"""
