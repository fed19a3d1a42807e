"""Verbs whose past does not begin like them, as people say what they have done."""

from __future__ import annotations

_FORMS = (
    "bring brought, build built, buy bought, choose chose chosen, cut cut, do did done, draw drew drawn, drive drove driven, "
    "eat ate eaten, feed fed, find found, get got gotten, give gave given, go went gone, hang hung, leave left, make made, "
    "meet met, pay paid payed, read read, ride rode ridden, ring rang rung, run ran run, see saw seen, sell sold, send sent, speak spoke spoken, "
    "sweep swept, take took taken, teach taught, tell told, throw threw thrown, tidy tidied, try tried, wear wore worn, "
    "write wrote written"
)
BASE_FORMS = {form: base for base, *forms in map(str.split, _FORMS.split(",")) for form in forms}
"""The verb of each past form."""
