def ride(payment, tips=None):
    """A long ride in the afternoon, serialised."""
    floats = {
        "fare": 40.0,
        "trip_miles": 15.0,
        "pickup_latitude": 41.88,
        "pickup_longitude": -87.63,
        "dropoff_latitude": 41.98,
        "dropoff_longitude": -87.9,
        **({} if tips is None else {"tips": tips}),
    }
    ints = {
        "trip_seconds": 2400,
        "trip_start_hour": 15,
        "trip_start_day": 3,
        "trip_start_month": 5,
        "trip_start_timestamp": 1400000000,
        "pickup_community_area": 8,
        "dropoff_community_area": 76,
    }
    feature = tf.train.Feature
    features = {
        "payment_type": feature(bytes_list=tf.train.BytesList(value=[payment])),
        **{name: feature(float_list=tf.train.FloatList(value=[v])) for name, v in floats.items()},
        **{name: feature(int64_list=tf.train.Int64List(value=[v])) for name, v in ints.items()},
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
