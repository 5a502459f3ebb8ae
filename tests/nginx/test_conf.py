"""nginx as serve configures it, with no worker: what it answers by itself,
and what it does between a client and an app in a sandbox."""
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def free_ports():
    """Two that nobody listens on."""
    with socket.create_server(('127.0.0.1', 0)) as one, \
            socket.create_server(('127.0.0.1', 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


PORT, PATH_PORT = free_ports()
DOMAIN = 'box.example'
KEY = '8000-s00000abcdefghjkmnpqrs-tok1'


class App(threading.Thread):
    """A program behind a preview's socket: tells what it got."""

    def __init__(self, path, headers=b''):
        super().__init__(daemon=True)
        self.headers = headers
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.socket.listen(8)

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                self.answer(peer)

    def answer(self, peer):
        got = b''
        while b'\r\n\r\n' not in got:
            got += peer.recv(65536)
        head, body = got.split(b'\r\n\r\n', 1)
        length = re.search(rb'Content-Length: (\d+)', head, re.I)
        while length and len(body) < int(length.group(1)):
            body += peer.recv(65536)
        if b'Upgrade: websocket' in head:
            peer.sendall(b'HTTP/1.1 101 Switching Protocols\r\n'
                         b'Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
            peer.sendall(peer.recv(100).upper())
            return
        text = head + b'\r\n\r\n' + body
        peer.sendall(b'HTTP/1.1 200 OK\r\n' + self.headers
                     + b'Content-Length: %d\r\n\r\n' % len(text) + text)


MODULES = '/usr/lib/nginx/modules'


class Nginx(unittest.TestCase):
    INI = ''

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix='warren-nginx-')
        with open(f'{cls.data}/warren.ini', 'w', encoding='utf-8') as file:
            file.write(cls.INI)
        cls.run_dir = os.path.join(cls.data, 'run')
        cls.preview = os.path.join(cls.run_dir, 'preview')
        os.makedirs(cls.preview)
        for path in (cls.data, cls.run_dir, cls.preview):
            os.chmod(path, 0o755)
        subprocess.run([os.path.join(HERE, 'render.sh'), cls.data,
                        cls.run_dir, str(PORT), DOMAIN], check=True,
                       capture_output=True)
        cls.nginx = subprocess.Popen(
            ['nginx', '-e', f'{cls.data}/nginx/error.log', '-p',
             f'{cls.data}/nginx', '-c', f'{cls.data}/nginx/nginx.conf'],
            env={**os.environ, 'TZ': 'UTC'})
        for _ in range(100):
            try:
                socket.create_connection(('127.0.0.1', PORT), 1).close()
                break
            except OSError:
                time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.send_signal(signal.SIGTERM)
        cls.nginx.wait(10)
        shutil.rmtree(cls.data)

    def app(self, key=KEY, headers=b''):
        path = os.path.join(self.preview, key + '.sock')
        app = App(path, headers)
        app.start()
        self.addCleanup(os.unlink, path)
        self.addCleanup(app.socket.close)

    def call(self, host, path='/', method='GET', body=None, headers=None,
             port=PORT):
        link = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
        self.addCleanup(link.close)
        link.request(method, path, body, {'Host': host, **(headers or {})})
        answer = link.getresponse()
        answer.text = answer.read().decode()
        return answer

    def assert_error(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.text)
        error = json.loads(answer.text)
        self.assertEqual(error['httpStatus'], status)
        self.assertEqual(error['code'], code)
        self.assertEqual(error['context'], {})
        self.assertEqual(error['requestId'], answer.headers['X-Request-Id'])
        self.assertRegex(error['timestamp'],
                         r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')

    def lines(self, name):
        with open(f'{self.data}/nginx/{name}', encoding='utf-8') as file:
            return file.read()


class Conf(Nginx):
    def test_errors_of_nginx_have_the_shape_of_the_api(self):
        self.assert_error(self.call(DOMAIN, '/v1/health'), 502,
                          'SERVICE_UNAVAILABLE')
        self.assert_error(self.call(DOMAIN, '/nothing'), 404, 'NOT_FOUND')
        self.assert_error(self.call(DOMAIN, '/v1/%00'), 400, 'BAD_REQUEST')
        self.assert_error(
            self.call(DOMAIN, '/v1/x', headers={'X-Long': 'a' * 40000}), 431,
            'BAD_REQUEST')
        self.assert_error(
            self.call(DOMAIN, '/v1/x', 'POST',
                      headers={'Content-Length': str(1 << 40)}), 413,
            'BODY_TOO_LARGE')

    def test_the_front_page_says_what_this_is(self):
        answer = self.call(DOMAIN)
        self.assertEqual(answer.status, 200)
        self.assertIn('<title>Warren</title>', answer.text)

    def test_the_way_is_that_of_the_path_as_it_was_sent(self):
        # 502: it went to a worker, which would answer.
        for path in ('/v1/sandboxes/..%2f..', '/v1/sandboxes/%2e%2e/%2e%2e/',
                     '/v1/%2e%2e/', '/v1/sandboxes/x/../../../'):
            with self.subTest(path=path):
                self.assert_error(self.call(DOMAIN, path), 502,
                                  'SERVICE_UNAVAILABLE')
        # Of raw files nginx takes any length, whatever their names.
        for path in ('a', '%2e%2e/%2e%2e/a', 'a/../..%2Fb', '/tmp/../a'):
            with self.subTest(path=path):
                self.assert_error(
                    self.call(DOMAIN, f'/v1/sandboxes/x/files/{path}', 'PUT',
                              headers={'Content-Length': str(1 << 40)}),
                    502, 'SERVICE_UNAVAILABLE')
        for path in ('/x/../v1/health', '/%76%31/health', '/_warren_raw',
                     '/_warren_api', '/_warren_page', '/_warren_error',
                     '/x/..', '/index.html'):
            with self.subTest(path=path):
                self.assert_error(self.call(DOMAIN, path), 404, 'NOT_FOUND')

    def test_any_other_host_is_not_found(self):
        self.app()
        for host in ('evil.example', f'{KEY}.evil.example', f'a.{DOMAIN}',
                     f'{KEY}.x.{DOMAIN}', f'123456-{KEY[5:]}.{DOMAIN}',
                     f'0-{KEY[5:]}.{DOMAIN}', f'8000-{KEY[5:-4]}.{DOMAIN}',
                     f'{KEY}-x.{DOMAIN}', f'{KEY[:-4]}to_1.{DOMAIN}',
                     f'{KEY}.boxxexample'):
            with self.subTest(host=host):
                self.assert_error(self.call(host), 404, 'NOT_FOUND')

    def test_a_request_reaches_the_app_untouched(self):
        self.app()
        answer = self.call(f'{KEY}.{DOMAIN}:{PORT}', '/a//b/%2F/../c?x=%20',
                           'PUT', 'body', {'Authorization': 'Bearer app',
                                           'X-Forwarded-For': '6.6.6.6'})
        self.assertEqual(answer.status, 200)
        lines = answer.text.split('\r\n')
        self.assertEqual(lines[0], 'PUT /a//b/%2F/../c?x=%20 HTTP/1.1')
        self.assertIn('Host: localhost:8000', lines)
        self.assertIn('Authorization: Bearer app', lines)
        self.assertIn('X-Forwarded-For: 127.0.0.1', lines)
        self.assertIn('X-Forwarded-Proto: http', lines)
        self.assertIn(f'X-Forwarded-Host: {KEY}.{DOMAIN}:{PORT}', lines)
        self.assertNotIn('6.6.6.6', answer.text)
        self.assertEqual(lines[-1], 'body')

    def test_an_answer_reaches_the_client_untouched(self):
        self.app(headers=b'Server: mine\r\nDate: then\r\n'
                 b'Location: http://localhost:8000/x\r\n')
        answer = self.call(f'{KEY}.{DOMAIN}')
        self.assertEqual(answer.headers['Server'], 'mine')
        self.assertEqual(answer.headers['Date'], 'then')
        self.assertEqual(answer.headers['Location'],
                         'http://localhost:8000/x')

    def test_an_app_cannot_redirect_nginx_inside(self):
        for target in (b'/_warren_error', b'@preview_fallback', b'/'):
            key = KEY[:-1] + str(len(target) % 10)
            self.app(key, b'X-Accel-Redirect: ' + target + b'\r\n')
            answer = self.call(f'{key}.{DOMAIN}')
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.text.startswith('GET / '), answer.text)

    def test_host_names_match_in_any_case(self):
        self.app()
        self.assertEqual(self.call(f'{KEY.upper()}.{DOMAIN.upper()}').status,
                         200)

    def test_no_host_header_reaches_another_app_or_fails_otherwise(self):
        self.app()
        fuzz = random.Random(1)
        good = f'{KEY}.{DOMAIN}'
        for _ in range(500):
            host = bytearray(good.encode())
            for _ in range(fuzz.randint(1, 4)):
                at = fuzz.randrange(len(host) + 1)
                cut = fuzz.choice((0, 1, 1, 1, 5, 60))
                host[at:at + cut] = fuzz.choice(
                    (b'', b'-', b'.', b'/', b'%2e', b'\0', b'@', b':1', b'..',
                     b'[::1]', b'\t', b'a' * 70, bytes([fuzz.randrange(256)])))
            if b'\r' in host or b'\n' in host:
                continue
            with socket.create_connection(('127.0.0.1', PORT), 10) as link:
                link.sendall(b'GET / HTTP/1.1\r\nConnection: close\r\nHost: '
                             + host + b'\r\n\r\n')
                answer = link.recv(65536)
            status = answer.split(b' ', 2)[1:2]
            name = bytes(host).split(b':')[0].strip().rstrip(b'.').lower()
            with self.subTest(host=bytes(host)):
                if name == good.encode():
                    self.assertIn(status, ([b'200'], [b'400']))
                elif name == DOMAIN.encode():
                    self.assertIn(status, ([b'200'], [b'400']))
                    self.assertNotIn(b'Host: localhost', answer)
                else:
                    # 502: a key of the right form, which no worker refuses
                    # here since there is none. To nginx "[::1]x" is [::1].
                    own = [[b'200']] if name.startswith(b'[') else []
                    self.assertIn(status, ([b'404'], [b'400'], [b'502'], *own))
                    self.assertNotIn(b'Host: localhost', answer)

    def test_without_a_setting_only_an_hour_of_silence_ends_a_transfer(self):
        text = self.lines('preview_serve.conf')
        for name in ('proxy_read_timeout', 'proxy_send_timeout',
                     'client_body_timeout', 'send_timeout'):
            self.assertIn(f'{name} 3600s;', text)
        self.assertNotIn('limit_req', text)
        self.assertNotIn('preview_path', self.lines('nginx.conf'))

    def test_a_websocket_reaches_the_app(self):
        self.app()
        with socket.create_connection(('127.0.0.1', PORT), 10) as link:
            link.sendall(f'GET / HTTP/1.1\r\nHost: {KEY}.{DOMAIN}\r\n'
                         'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
                         .encode())
            self.assertIn(b'101 Switching', link.recv(4096))
            link.sendall(b'hello')
            self.assertEqual(link.recv(100), b'HELLO')

    def test_tokens_are_not_in_the_logs(self):
        self.app()
        self.call(f'{KEY}.{DOMAIN}', '/logged')
        time.sleep(0.2)
        text = ''.join(map(self.lines,
                           ('preview.log', 'access.log', 'error.log')))
        self.assertIn('/logged', text)
        self.assertNotIn('tok1', text)

    def test_the_site_for_a_real_domain_is_valid(self):
        for key, usage in (('privkey', 'rsa:2048'),):
            subprocess.run(
                ['openssl', 'req', '-x509', '-newkey', usage, '-nodes',
                 '-subj', '/CN=x', '-days', '1', '-keyout',
                 f'{self.data}/{key}.pem', '-out',
                 f'{self.data}/fullchain.pem'], check=True,
                capture_output=True)
        with open(f'{ROOT}/nginx/site.conf.example',
                  encoding='utf-8') as file:
            site = file.read()
        site = site.replace('/var/lib/warren', self.data).replace(
            '/etc/ssl/warren', self.data)
        path = f'{self.data}/site.conf'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'load_module {MODULES}/ndk_http_module.so;\n'
                       f'load_module {MODULES}/ngx_http_lua_module.so;\n'
                       f'pid {self.data}/site.pid;\nevents {{}}\n'
                       f'http {{\n{site}}}\n')
        done = subprocess.run(['nginx', '-t', '-e', f'{self.data}/site.log',
                               '-p', self.data, '-c', path],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class Settings(Nginx):
    INI = f"""
[preview]
requestsPerSecond = 1 ; and one more at once
idleSeconds = 3
pathPort = {PATH_PORT}
"""
    keys = (f'{8001 + i}{KEY[4:]}' for i in range(999))

    def setUp(self):
        self.key = next(self.keys)
        self.prefix = f'/p/{self.key}'

    def by_path(self, path, *args, **kwargs):
        return self.call('10.0.0.1:5', path, *args, port=PATH_PORT, **kwargs)

    def test_too_many_requests_at_a_time_are_told_so(self):
        self.app(self.key)
        start = time.monotonic()
        answers = [self.call(f'{self.key}.{DOMAIN}') for _ in range(60)]
        passed = [a for a in answers if a.status == 200]
        refused = [a for a in answers if a.status == 429]
        took = time.monotonic() - start
        self.assertEqual(len(passed) + len(refused), 60)
        self.assertGreaterEqual(len(passed), 2)
        self.assertLessEqual(len(passed), 3 + took)
        error = json.loads(refused[0].text)
        self.assertEqual(error['code'], 'LIMIT_EXCEEDED')
        self.assertEqual(error['context'], {'port': int(self.key[:4])})
        self.assertEqual(refused[0].headers['Retry-After'], '1')

    def websocket(self):
        link = socket.create_connection(('127.0.0.1', PORT), 30)
        self.addCleanup(link.close)
        link.sendall(f'GET / HTTP/1.1\r\nHost: {self.key}.{DOMAIN}\r\n'
                     'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
                     .encode())
        self.assertIn(b'101 Switching', link.recv(4096))
        return link

    def test_silence_is_what_ends_a_websocket_not_its_age(self):
        path = os.path.join(self.preview, self.key + '.sock')
        with socket.socket(socket.AF_UNIX) as app:
            app.bind(path)
            self.addCleanup(os.unlink, path)
            os.chmod(path, 0o666)
            app.listen(2)
            threading.Thread(target=self.chat, args=(app,),
                             daemon=True).start()
            # A machine that stalls is silent, too: then once more.
            for _ in range(10):
                link = self.websocket()
                if self.talks(link):
                    break
            else:
                self.skipTest('the machine stalls all the time')
            start = time.monotonic()
            self.assertEqual(link.recv(4), b'')
            self.assertGreater(time.monotonic() - start, 1)

    def talks(self, link):
        """For twice the limit, never silent as long as that."""
        start = last = time.monotonic()
        while last - start < 6:
            time.sleep(0.25)
            try:
                link.sendall(b'tick')
                told = link.recv(4)
            except ConnectionError:
                told = b''
            now = time.monotonic()
            if now - last > 2:
                return False
            self.assertEqual(told, b'tick')
            last = now
        return True

    @staticmethod
    def chat(app):
        while True:
            try:
                peer, _ = app.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                peer.recv(65536)
                peer.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: '
                             b'websocket\r\nConnection: Upgrade\r\n\r\n')
                while data := peer.recv(100):
                    peer.sendall(data)

    def test_by_path_a_request_reaches_the_app_without_its_prefix(self):
        self.app(self.key)
        answer = self.by_path(f'{self.prefix}/a//%2F../c?x=/p/y', 'PUT', 'body',
                              {'X-Forwarded-Prefix': '/forged'})
        self.assertEqual(answer.status, 200)
        lines = answer.text.split('\r\n')
        self.assertEqual(lines[0], 'PUT /a//%2F../c?x=/p/y HTTP/1.1')
        self.assertIn(f'Host: localhost:{self.key[:4]}', lines)
        self.assertIn(f'X-Forwarded-Prefix: {self.prefix}', lines)
        self.assertIn('X-Forwarded-Host: 10.0.0.1:5', lines)
        self.assertNotIn('/forged', answer.text)
        self.assertEqual(lines[-1], 'body')
        self.assertEqual(
            self.call(f'{self.key}.{DOMAIN}', headers={
                'X-Forwarded-Prefix': '/forged'}).text.count('Prefix'), 0)

    def test_by_path_redirects_and_cookies_stay_below_the_prefix(self):
        self.app(self.key, b'Location: /login\r\n'
                 b'Set-Cookie: a=1; Path=/\r\n'
                 b'Set-Cookie: b=2; Path=/x; HttpOnly\r\n'
                 b'Set-Cookie: c=3\r\n'
                 b'Set-Cookie: d=4; Path=' + self.prefix.encode() + b'/y\r\n'
                 b'Service-Worker-Allowed: /\r\n'
                 b'Clear-Site-Data: "*"\r\n')
        answer = self.by_path(self.prefix + '/')
        self.assertEqual(answer.headers['Location'], f'{self.prefix}/login')
        self.assertEqual(answer.headers.get_all('Set-Cookie'), [
            f'a=1; Path={self.prefix}/', f'b=2; Path={self.prefix}/x; HttpOnly',
            'c=3', f'd=4; Path={self.prefix}/y'])
        for name in ('Service-Worker-Allowed', 'Clear-Site-Data'):
            self.assertNotIn(name, answer.headers)
        bare = self.by_path(f'{self.prefix}?x=1')
        self.assertEqual(bare.status, 308)
        self.assertEqual(bare.headers['Location'], f'{self.prefix}/?x=1')

    def test_by_path_other_addresses_stay_as_the_app_has_them(self):
        for to in ('//other.example/x', 'https://other.example/', 'next',
                   f'{self.prefix}/here'):
            key = next(self.keys)
            self.app(key, f'Location: {to}\r\n'.encode())
            answer = self.by_path(f'/p/{key}/')
            self.assertEqual(answer.headers['Location'], to)

    def test_the_port_of_paths_has_neither_the_api_nor_the_pages(self):
        # 502: no worker is there to say 404, as it does for each of them.
        for path in ('/', '/v1/health', '/p/', '/p/x/', '/p/none/', '/p//',
                     f'/p/{self.key[:-1]}_/', f'/p/{self.key}', f'/{self.key}/',
                     f'/P/{self.key}/', f'/x{self.prefix}/',
                     f'/p/{self.key}%2f', f'/p/%2e%2e/{self.key}/'):
            with self.subTest(path=path):
                answer = self.by_path(path)
                self.assertIn(answer.status, (308, 502, 404))
                self.assertNotIn('<title>Warren', answer.text)
        for path in ('/_warren_api', '/_warren_page', '/_warren_raw'):
            with self.subTest(path=path):
                self.assertIn(self.by_path(path).status, (404, 502))
        text = self.lines('nginx.conf')
        server = text[text.index('preview_path') - 300:]
        self.assertNotIn('api.conf', server.split('server {')[-1])

    def test_by_path_tokens_are_not_in_the_logs(self):
        self.app(self.key)
        self.by_path(f'{self.prefix}/logged?secret')
        time.sleep(0.2)
        text = ''.join(map(self.lines,
                           ('preview.log', 'access.log', 'error.log')))
        self.assertIn('/p/logged', text)
        self.assertNotIn('tok1', text)

    def test_previews_by_path_are_not_the_apis_own_origin(self):
        with tempfile.TemporaryDirectory() as data:
            with open(f'{data}/warren.ini', 'w', encoding='utf-8') as file:
                file.write(f'[preview]\npathPort = {PORT}\n')
            done = subprocess.run(
                [os.path.join(HERE, 'render.sh'), data, f'{data}/run',
                 str(PORT), DOMAIN], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('must be another port', done.stderr)


unittest.main()
