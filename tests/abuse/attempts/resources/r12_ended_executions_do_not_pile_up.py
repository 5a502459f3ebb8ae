"""R12: ended executions do not pile up. What 100 calls printed is not kept
outside for ever."""
import stack


def attempt(self):
    keeper, _ = self.box.pids()
    for _ in range(100):
        self.box.sh('head -c 1000000 /dev/zero | tr "\\0" x')
    stack.until(5, 'the logs are dropped',
                lambda: stack.memory_of(keeper) < 48 * stack.MIB)
