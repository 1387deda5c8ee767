class FnArgs:
    def __init__(self, **fields):
        self.__dict__.update(fields)
