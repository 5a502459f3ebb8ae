"""attempts/list.md says of each attempt where it is made: that is true, and
no attempt is missing. Needs neither root nor a build."""
import ast
import glob
import os
import re
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ATTEMPTS = os.path.join(HERE, 'attempts')
# How many there are of each letter.
LISTED = {'F': 24, 'P': 16, 'N': 19, 'K': 22, 'R': 26, 'I': 14, 'C': 21}


def rows():
    """{id: (attempt, where)}"""
    found = {}
    with open(f'{ATTEMPTS}/list.md', encoding='utf-8') as file:
        for line in file:
            match = re.match(r'\| ([A-Z]\d+) \| (.+) \| (.+) \|$', line)
            if match:
                id_, what, where = match.groups()
                assert id_ not in found, f'{id_} twice'
                found[id_] = what, where
    return found


def files():
    return [os.path.relpath(path, ATTEMPTS)
            for path in glob.glob(f'{ATTEMPTS}/*/*.py')]


def ids_of(name):
    """The ids that a file's name begins with: n05_n06_x -> N5, N6."""
    head = re.match(r'(?:[a-z]\d\d_)*', os.path.basename(name)).group(0)
    return [part[0].upper() + str(int(part[1:]))
            for part in head.split('_') if part]


def lacks(id_, where):
    """What is not true of a row's last column; '' if all is."""
    if where.startswith('not here: '):
        return '' if len(where) > 30 else 'no reason'
    for place in re.split(r', (?=\.\./|[a-z]+(?:$|[,/]))', where):
        path, _, cases = place.partition(': ')
        if not path.startswith('../'):
            folder, _, start = path.partition('/')
            if not any(id_ in ids_of(name) and
                       os.path.basename(name).startswith(start)
                       for name in files()
                       if os.path.dirname(name) == folder):
                return f'no file for it in {path}'
            continue
        try:
            with open(f'{ATTEMPTS}/{path}', encoding='utf-8') as file:
                text = file.read()
        except FileNotFoundError:
            return f'no {path}'
        words = cases.split('; ') if path.endswith('.mjs') else cases.split()
        for word in words or ['no case is named']:
            if word not in text:
                return f'no "{word}" in {path}'
    return ''


class Registry(unittest.TestCase):
    def test_every_listed_attempt_has_a_row(self):
        self.assertEqual(list(rows()), [
            f'{letter}{n + 1}' for letter, count in LISTED.items()
            for n in range(count)])

    def test_every_row_is_true(self):
        for id_, (_, where) in rows().items():
            self.assertEqual(lacks(id_, where), '', id_)

    def test_a_row_that_is_not_true_is_found(self):
        for where in ('kernel', 'files/nothing', 'not here: ', '../none.py: x',
                      '../test_broker.py: test_of_nobody', '../test_broker.py',
                      'files, ../test_broker.py: test_of_nobody'):
            self.assertNotEqual(lacks('F1', where), '', where)

    def test_every_file_has_a_row_a_claim_and_an_attempt(self):
        listed = rows()
        for name in files():
            with self.subTest(name=name):
                with open(f'{ATTEMPTS}/{name}', encoding='utf-8') as file:
                    tree = ast.parse(file.read())
                claim = ast.get_docstring(tree) or ''
                self.assertGreater(len(claim), 12)
                self.assertIn('attempt', [
                    node.name for node in tree.body
                    if isinstance(node, ast.FunctionDef)])
                ids = ids_of(name)
                self.assertTrue(ids or os.path.basename(name)
                                .startswith('x_'))
                if ids:
                    self.assertTrue(claim.startswith(', '.join(ids) + ': '))
                for id_ in ids:
                    self.assertIn(os.path.dirname(name), listed[id_][1])


def calls(names, *folders):
    """(path, text) of the sources there that call one of these."""
    for folder in folders:
        for path in glob.glob(f'{ROOT}/{folder}/**/*.[ch]', recursive=True):
            with open(path, encoding='utf-8') as file:
                text = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)
            if re.search(rf'(?<![\w.>])(?:{names})', text):
                yield os.path.relpath(path, ROOT), text


class Sources(unittest.TestCase):
    """What no test could do to this machine, by what the sources call."""

    folders = ('base', 'fcgi', 'sandbox', 'store')

    def test_c19_nothing_waits_by_the_clock_that_can_be_set(self):
        self.assertEqual(
            [path for path, _ in calls('CLOCK_REALTIME', *self.folders)],
            ['base/clock.c'])  # which tells the date
        self.assertEqual(
            [path for path, text in calls(
                r'(?:pthread_cond|pthread_mutex|sem)_timed\w+|alarm'
                r'|setitimer', *self.folders)
             if 'pthread_condattr_setclock(&a, CLOCK_MONOTONIC)' not in text],
            [])

    def test_c20_outside_of_a_sandbox_a_pid_is_never_killed(self):
        """But a child that its parent has not waited for. Init and what runs
        inside know no other processes than the sandbox's."""
        own_children = {'sandbox/maker.c', 'sandbox/probe_cgroup.c'}
        inside = ('sandbox/init_', 'sandbox/git_', 'sandbox/bundle_',
                  'sandbox/pty_', 'sandbox/kernels/')
        self.assertEqual(
            [path for path, _ in calls(r'(?:kill|killpg|tgkill)\(',
                                       *self.folders)
             if path not in own_children and not path.startswith(inside)], [])


if __name__ == '__main__':
    unittest.main(verbosity=2)
