/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macros of jansson as cppcheck, which reads no system headers, needs them. */
#define json_array_foreach(array, i, value)                                   \
	for (i = 0; (value = json_array_get(array, i)) != NULL; i++)
#define json_object_foreach(object, key, value)                               \
	for (key = first_key(object);                                         \
	     (value = json_object_get(object, key)) != NULL;                  \
	     key = next_key(object, key))
