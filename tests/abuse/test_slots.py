"""Of more sandboxes than there are slots of user ids (4,096) each gets one: a
slot that was lost each time would be missed."""
import area
import stack

LIVES = 4200
THREADS = 4


class Slots(area.Lives):
    def test_no_slot_is_lost(self):
        before = self.settled()
        self.lives(LIVES, THREADS, lambda _: self.assertEqual(
            self.stack.sandbox().destroy(), 'none'))
        self.assertEqual(self.settled(before), before)


if __name__ == '__main__':
    stack.main()
