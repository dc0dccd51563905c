"""How deep a plugin's values may be."""

import unittest

from windlass import values
from windlass.errors import PermanentError


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


class Depth(unittest.TestCase):
    def test_a_value_as_deep_as_the_bound_is_taken_and_a_deeper_one_is_a_permanent_error(self):
        values.encode(nested(100), "result", "RESULT")
        with self.assertRaises(PermanentError) as caught:
            values.encode(nested(101), "result", "RESULT")
        self.assertEqual(caught.exception.code, "RESULT_NOT_JSON")
        self.assertIn("100 levels", str(caught.exception))

    def test_brackets_within_texts_and_beside_each_other_are_not_depth(self):
        values.encode(["[" * 500, '\\"' + "{" * 500, [[], {}] * 300], "output", "OUTPUT")


if __name__ == "__main__":
    unittest.main()
